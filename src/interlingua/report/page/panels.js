// Panels that are no charts: the extreme neurons, and the sentences that do not find each other.

const neuronList = (heading, list) => {
  const box = element('div');
  const items = element('ol');
  for (const i of list) {
    const r = tables.neurons.correlation[i];
    const item = element('li');
    const bar = element('span', { class: 'bar' });
    const filled = element('i');
    filled.style.width = `${Math.min(100, Math.abs(r ?? 0) * 100)}%`;
    bar.append(filled);
    item.append(element('span', {}, `#${tables.neurons.neuron[i]}`), bar, element('span', {}, shown(r)));
    items.append(item);
  }
  box.append(element('h4', {}, heading), items);
  return box;
};

const showNeurons = (state) => {
  const panel = document.getElementById('neurons');
  const list = [...rowsOf('neurons', ['series', 'pair', 'layer'], state.series, state.pair, state.layer)];
  list.sort((a, b) => Math.abs(tables.neurons.correlation[b]) - Math.abs(tables.neurons.correlation[a]));
  const half = Math.ceil(list.length / 2);
  const content = list.length
    ? [neuronList('Most alike', list.slice(0, half)), neuronList('Least alike', list.slice(half).reverse())]
    : [element('p', { class: 'none' }, 'Neurons were not ranked for this layer and pair.')];
  panel.querySelector('.ends').replaceChildren(...content);
  panel.querySelector('.caption').textContent = list.length ? 'Number of a neuron, and how it correlates between the two languages, whatever the sign.' : '';
};

const sentence = (lang, text, note) => {
  const box = element('div');
  box.append(element('p', { dir: 'auto', lang }, text), element('small', {}, note));
  return box;
};

const showWorst = (state) => {
  const panel = document.getElementById('worst');
  const [source, target] = data.pairs[state.pair];
  const w = tables.worst;
  const list = rowsOf('worst', ['series', 'pair', 'layer'], state.series, state.pair, state.layer);
  const place = panel.querySelector('.sentences');
  if (!list.length) {
    const why = w.place.length ? 'Every sentence finds its translation here, or matching was not done for this layer and pair.' : 'Matching was not done.';
    place.replaceChildren(element('p', { class: 'none' }, why));
    panel.querySelector('.caption').textContent = '';
    return;
  }
  const head = element('div', { class: 'sentence head' });
  head.append(element('span', { dir: 'auto' }, `sentence (${source})`), element('span', { dir: 'auto' }, `its translation (${target})`), element('span', { dir: 'auto' }, `found nearer instead (${target})`));
  const rows = list.map((i) => {
    const row = element('div', { class: 'sentence' });
    row.append(
      sentence(source, said(w.text[i]), `${w.place[i]}. sentence ${said(w.id[i])}`),
      sentence(target, said(w.translation[i]), `its translation, cosine ${shown(w.score[i])}`),
      sentence(target, said(w.nearest[i]), `found nearer, cosine ${shown(w.nearest_score[i])}`),
    );
    return row;
  });
  place.replaceChildren(head, ...rows);
  panel.querySelector('.caption').textContent = `The ${list.length} sentences farthest from finding their translation at this layer; the farthest first.`;
};

const showReadout = (state) => {
  const line = document.getElementById('readout');
  const found = rowsOf('values', ['series', 'pair', 'measure', 'baseline'], state.series, state.pair, state.measure, 0).find((i) => values.layer[i] === state.layer);
  line.replaceChildren();
  if (found === undefined) { line.textContent = 'This was not measured.'; return; }
  const row = asRow(found);
  const name = `${row.measure}, ${row.pair}, layer ${row.layer}: `;
  line.append(element('span', { dir: 'auto' }, name), element('b', {}, shown(row.value)));
  if (row.low !== null) line.append(` (95% interval ${shown(row.low)} to ${shown(row.high)})`);
  if (row.null !== null) line.append(`; shuffled pairs ${shown(row.null)}`);
  if (row.random !== null) line.append(`; untrained network ${shown(row.random)}`);
  line.append(row.notes ? `. ${row.notes}.` : '.');
  line.append(element('small', { dir: 'auto' }, row.signature));
};
