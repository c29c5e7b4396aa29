// The browser of words: a query, its nearest words in the other language, the right ones marked.

if (data.found) {
  const option = (value) => { const made = document.createElement('option'); made.value = value; made.textContent = value; return made; };
  const layers = Object.keys(data.found);
  $('layer').replaceChildren(...layers.map(option));
  $('layer').value = data.start.layer;
  const index = new Map();
  const rowsOf = (layer, way) => {
    const key = `${layer} ${way}`;
    if (!index.has(key)) index.set(key, new Map((data.found[layer][way] ?? []).map((row) => [data.words[row[0]], row])));
    return index.get(key);
  };
  const show = () => {
    const known = rowsOf($('layer').value, $('way').value);
    const word = $('word').value.trim().toLowerCase();
    const row = known.get(word);
    $('asked').textContent = row ? `${word}: its nearest in the other language` : word ? `${word} is not in the test dictionary, or has no vector` : '';
    const right = new Set(row ? data.gold[row[0]] : []);
    $('near').replaceChildren(...(row ? row.slice(1) : []).map((number) => {
      const item = document.createElement('li');
      item.dir = 'auto';
      item.textContent = data.words[number];
      if (right.has(number)) item.className = 'right';
      return item;
    }));
    $('gold').textContent = row ? `In the dictionary: ${[...right].map((number) => data.words[number]).join(', ')}.` : '';
  };
  const ways = () => {
    const before = $('way').value || data.start.way;
    const there = Object.keys(data.found[$('layer').value]);
    $('way').replaceChildren(...there.map(option));
    $('way').value = there.includes(before) ? before : there[0];
    $('words').replaceChildren(...[...rowsOf($('layer').value, $('way').value).keys()].slice(0, 3000).map(option));
    show();
  };
  let turn = 0;
  const another = () => {
    const known = [...rowsOf($('layer').value, $('way').value).keys()];
    $('word').value = known[turn++ * 7 % known.length];
    show();
  };
  $('ask').addEventListener('submit', (event) => { event.preventDefault(); show(); });
  $('layer').addEventListener('change', ways);
  $('way').addEventListener('change', show);
  $('word').addEventListener('input', show);
  $('another').addEventListener('click', another);
  ways();
  another();
} else $('browser').hidden = true;
