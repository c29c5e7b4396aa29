// What was measured: columns, decoded, and found again by model, pair, measure and layer. Written by report/embed.py.

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const data = read('data');
const drawn = read('charts');
const OWN = '\ue000';

const unpacked = (column) => {
  if (Array.isArray(column)) return column;
  if (column.cycle) return Array.from({ length: column.cycle.length * column.times }, (_, i) => column.cycle[i % column.cycle.length]);
  const all = [];
  for (let i = 0; i < column.runs.length; i += 2) for (let k = column.runs[i + 1]; k > 0; k--) all.push(column.runs[i]);
  return all;
};
const tables = {};
for (const name of ['values', 'geometry', 'layers', 'neurons', 'histograms', 'worst', 'prepared']) {
  tables[name] = {};
  for (const [column, packed] of Object.entries(data[name])) tables[name][column] = unpacked(packed);
}
const values = tables.values;
const pairName = (pair) => `${data.pairs[pair][0]} – ${data.pairs[pair][1]}`;
const said = (number) => data.texts[number];

// Rows of a table by the columns named, made when first asked for: numbers joined -> places of the rows.
const indexes = new Map();
const rowsOf = (table, columns, ...wanted) => {
  const name = `${table} ${columns}`;
  if (!indexes.has(name)) {
    const index = new Map();
    const held = columns.map((column) => tables[table][column]);
    const n = held[0].length;
    let key = null, list = null;
    for (let i = 0; i < n; i++) {
      let same = list !== null;
      for (const column of held) if (!same || column[i] !== column[i - 1]) same = false;
      if (!same) {
        key = held.map((column) => column[i]).join();
        list = index.get(key);
        if (!list) index.set(key, (list = []));
      }
      list.push(i);
    }
    indexes.set(name, index);
  }
  return indexes.get(name).get(wanted.join()) ?? [];
};

const signatureOf = (i) => {
  const own = { measure: data.measures[values.measure[i]].name, pair: data.pairs[values.pair[i]].join('-'), layer: values.layer[i] };
  return said(values.signature[i]).split('|').map((part) => {
    const name = part.slice(0, part.indexOf(':'));
    return part === `${name}:${OWN}` ? `${name}:${own[name]}` : part;
  }).join('|');
};

// What the untrained network gives for the same, by place of the row; the mean where there are several.
const sums = new Map();
const same = (i) => `${values.series[i]},${values.pair[i]},${values.measure[i]},${values.layer[i]}`;
for (let i = 0; i < values.value.length; i++) {
  if (!values.baseline[i] || values.value[i] === null) continue;
  const [sum, n] = sums.get(same(i)) ?? [0, 0];
  sums.set(same(i), [sum + values.value[i], n + 1]);
}
const untrained = values.value.map((_, i) => {
  const found = sums.size && !values.baseline[i] ? sums.get(same(i)) : undefined;
  return found ? found[0] / found[1] : null;
});

// A value as charts take it; the columns are those of the figures' tables.
const asRow = (i, full = true) => ({
  series: data.series[values.series[i]].name, pair: pairName(values.pair[i]), layer: values.layer[i],
  source: data.pairs[values.pair[i]][0], target: data.pairs[values.pair[i]][1], measure: data.measures[values.measure[i]].name,
  value: values.value[i], low: values.low[i], high: values.high[i], null: values.null[i], random: untrained[i],
  n: values.n[i], ...(full ? { notes: said(values.notes[i]), signature: signatureOf(i) } : {}),
});

const measured = (column) => [...new Set(column.filter((_, i) => !values.baseline[i]))].sort((a, b) => a - b);
const [measuredSeries, measuredPairs, measuredMeasures] = [values.series, values.pair, values.measure].map(measured);
const layersOf = (series) => {
  let most = 0;
  for (let i = 0; i < values.layer.length; i++) if (values.series[i] === series && values.layer[i] > most) most = values.layer[i];
  return most;
};

const shown = (value, digits = 3) => (value === null || value === undefined ? '–' : value.toFixed(digits));
const element = (tag, attributes = {}, text = null) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== null) made.textContent = text;
  return made;
};
