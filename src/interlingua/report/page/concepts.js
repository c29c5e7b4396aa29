// The browser of concepts: a word, the concept it is in, its partner in the other language, its fate by layer.

if (data.found) {
  const [ID, KIND, VALUE, TYPES, OVERLAPS, WORDS, COUNTS, LANGS, PARTNERS, SAID, NAME, TAG] = Array(12).keys();
  const make = (tag, text, kind) => { const made = document.createElement(tag); if (text !== undefined) { made.textContent = text; made.dir = 'auto'; } if (kind) made.className = kind; return made; };
  const option = (value, text = value) => { const made = make('option', text); made.value = value; return made; };
  const names = { base: 'model', tuned: 'tuned model' };
  const groups = [...new Set(Object.values(data.found).flatMap((layers) => Object.values(layers).flatMap(Object.keys)))];
  $('space').replaceChildren(...Object.keys(data.found).map((space) => option(space, names[space] ?? space)));
  $('group').replaceChildren(...groups.map((group) => option(group, group.replaceAll('+', ' and '))));
  const layers = () => Object.keys(data.found[$('space').value]).sort((a, b) => a - b);
  const fillLayers = () => {
    const before = $('layer').value || data.start.layer;
    $('layer').replaceChildren(...layers().map((n) => option(n)));
    $('layer').value = layers().includes(before) ? before : layers()[0];
  };
  const here = (layer = $('layer').value, group = $('group').value) => data.found[$('space').value][layer]?.[group] ?? [];
  const holding = (number, layer) => here(layer)
    .map((concept) => [concept, concept[WORDS].indexOf(number)])
    .filter(([, at]) => at >= 0)
    .sort((a, b) => b[0][COUNTS][b[1]] - a[0][COUNTS][a[1]])
    .map(([concept]) => concept);
  const about = (concept) => {
    const kind = concept[KIND] === 'semantic' ? '' : `, ${concept[KIND]}${concept[VALUE] ? ` “${concept[VALUE]}”` : ''}`;
    const name = concept[NAME] ? ` “${concept[NAME]}”` : '';
    return `concept ${concept[ID]}${name}: ${concept[TYPES]} types${kind}${concept[TAG] ? `, ${concept[TAG]}` : ''}${concept[OVERLAPS] ? ', languages mix' : ''}`;
  };
  const cloud = (list, concept, asked, linked) => {
    const most = Math.max(...concept[COUNTS]);
    list.replaceChildren(...concept[WORDS].map((number, i) => {
      const item = make('li', data.words[number], `lang${data.languages.indexOf(concept[LANGS][i]) % 4}`);
      item.style.fontSize = `${0.9 + 0.6 * Math.sqrt(concept[COUNTS][i] / most)}rem`;
      item.title = `${concept[LANGS][i]}, ${concept[COUNTS][i]} mentions`;
      if (number === asked) item.classList.add('asked');
      if (linked && linked.has(number)) item.classList.add('linked');
      return item;
    }));
  };
  const examples = (box, concept) => {
    box.replaceChildren(...concept[SAID].map(([lang, number, first, stop]) => {
      const text = data.texts[number], line = make('p', undefined, 'caption');
      line.dir = 'auto';
      line.append(`${lang}: ${text.slice(0, first)}`, make('mark', text.slice(first, stop)), text.slice(stop));
      return line;
    }));
  };
  let concept = null, asked = -1;
  const draw = () => {
    $('theirs-title').textContent = ''; $('theirs').replaceChildren(); $('theirs-said').replaceChildren();
    $('mine').replaceChildren(); $('mine-said').replaceChildren(); $('links').textContent = '';
    $('mine-title').textContent = concept ? about(concept) : `“${$('word').value.trim()}” is not among the shown words of a concept at this layer`;
    if (concept) {
      cloud($('mine'), concept, asked);
      examples($('mine-said'), concept);
      const [partner] = concept[PARTNERS];
      if (partner) {
        const [lang, number, share, why] = partner;
        const other = here($('layer').value, lang).find((each) => each[ID] === number);
        if (other) {
          $('theirs-title').textContent = `${lang}, ${about(other)}: holds translations of ${Math.round(100 * share)} % of its words`;
          cloud($('mine'), concept, asked, new Set(why.map(([word]) => word)));
          cloud($('theirs'), other, -1, new Set(why.map(([, word]) => word)));
          const to = new Map();
          for (const [word, translation] of why) to.set(word, [...(to.get(word) ?? []), data.words[translation]]);
          $('links').textContent = [...to].map(([word, list]) => `${data.words[word]} → ${list.join(', ')}`).join('; ');
          examples($('theirs-said'), other);
        }
      } else if (!$('group').value.includes('+')) $('theirs-title').textContent = 'No concept of another language corresponds';
    }
    const head = make('tr');
    head.append(...['layer', 'concept', 'with', 'corresponds to'].map((text) => make('th', text)));
    const rows = asked < 0 ? [] : layers().map((layer) => {
      const [found] = holding(asked, layer), row = make('tr');
      row.append(make('td', layer));
      if (!found) { row.append(make('td', 'not among the words shown'), make('td', ''), make('td', '')); return row; }
      const cell = make('td'), go = make('button', about(found));
      go.type = 'button';
      go.addEventListener('click', () => { $('layer').value = layer; concept = found; draw(); });
      cell.append(go);
      const [partner] = found[PARTNERS];
      row.append(cell, make('td', found[WORDS].filter((number) => number !== asked).slice(0, 6).map((number) => data.words[number]).join(', ')),
        make('td', partner ? `${partner[0]} concept ${partner[1]} (${Math.round(100 * partner[2])} %)` : ''));
      return row;
    });
    $('fate').replaceChildren(head, ...rows);
  };
  const search = () => {
    const number = data.words.indexOf($('word').value.trim().toLowerCase());
    asked = number;
    [concept] = number < 0 ? [null] : holding(number, $('layer').value);
    concept ??= null;
    draw();
  };
  let turn = 0;
  const another = () => {
    const many = here();
    const paired = many.filter((each) => each[PARTNERS].length || each[OVERLAPS]);
    const from = paired.length ? paired : many;
    concept = from[(turn++ * 7) % from.length];
    asked = concept[WORDS][0];
    $('word').value = data.words[asked];
    draw();
  };
  const list = () => {
    const seen = new Set(here().flatMap((each) => each[WORDS].slice(0, 5)));
    $('words').replaceChildren(...[...seen].slice(0, 3000).map((number) => option(data.words[number])));
  };
  const legend = () => {
    $('legend').replaceChildren('Underlined by language: ', ...data.languages.flatMap((lang, i) => {
      const item = make('span', lang, `lang${i % 4}`);
      item.style.borderBottomWidth = '3px';
      item.style.borderBottomStyle = 'solid';
      return [item, ' '];
    }), '. Larger words are mentioned more often in the concept.');
  };
  $('ask').addEventListener('submit', (event) => { event.preventDefault(); search(); });
  $('word').addEventListener('change', search);
  $('space').addEventListener('change', () => { fillLayers(); list(); search(); });
  $('layer').addEventListener('change', () => { list(); search(); });
  $('group').addEventListener('change', () => { list(); another(); });
  $('another').addEventListener('click', another);
  fillLayers();
  list();
  legend();
  another();
} else $('browser').hidden = true;
