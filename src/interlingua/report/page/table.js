// The table of all values: sorted and filtered as numbers of rows, of which one page at a time is in the document.

const PAGE = 25;
const COLUMNS = [
  ['model', (i) => data.series[values.series[i]].model],
  ['pooling', (i) => data.series[values.series[i]].pooling],
  ['layer', (i) => values.layer[i], 0],
  ['source', (i) => data.pairs[values.pair[i]][0]],
  ['target', (i) => data.pairs[values.pair[i]][1]],
  ['measure', (i) => data.measures[values.measure[i]].name],
  ['value', (i) => values.value[i], 4],
  ['low', (i) => values.low[i], 4],
  ['high', (i) => values.high[i], 4],
  ['null', (i) => values.null[i], 4],
  ['p', (i) => values.p[i], 4],
  ['n', (i) => values.n[i], 0],
  ['baseline', (i) => Boolean(values.baseline[i])],
  ['published', (i) => values.published[i], 4],
  ['published_as', (i) => said(values.published_as[i])],
  ['notes', (i) => said(values.notes[i])],
  ['signature', signatureOf],
];
const held = (name) => name === 'value' || values.value.some((_, i) => { const v = COLUMNS.find((c) => c[0] === name)[1](i); return v !== null && v !== ''; });
const titles = { null: 'shuffled', baseline: 'untrained' };

const table = {
  shownColumns: COLUMNS.filter(([name]) => name !== 'signature' && held(name)),
  order: [], at: 0, by: null, down: false, unknown: '',

  // Whether a row has every word: "layer:8" wants that layer and "measure:anc" that measure (of several, any), "notes:few"
  // a note with that in it, and a bare word a model, pooling, language or measure with that in its name.
  wanted() {
    const words = document.getElementById('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
    const exact = new Map(), rest = [], noted = [];
    this.unknown = '';
    for (const word of words) {
      const [, column, value] = /^(model|pooling|layer|source|target|measure|notes):(.+)$/.exec(word) ?? [];
      if (!column && /^[a-z]+:/.test(word)) this.unknown = word.slice(0, word.indexOf(':'));
      if (column === 'notes') noted.push(value);
      else if (column) exact.set(column, [...(exact.get(column) ?? []), value]);
      else rest.push(word);
    }
    const layers = exact.get('layer')?.map(Number);
    exact.delete('layer');
    const known = new Map();
    const named = (i) => {
      const key = `${values.series[i]},${values.pair[i]},${values.measure[i]},${values.notes[i]}`;
      if (!known.has(key)) {
        const series = data.series[values.series[i]], [source, target] = data.pairs[values.pair[i]];
        const own = { model: series.model, pooling: series.pooling, source, target, measure: data.measures[values.measure[i]].name };
        for (const name of Object.keys(own)) own[name] = own[name].toLowerCase();
        const all = Object.values(own).join(' '), notes = said(values.notes[i]).toLowerCase();
        known.set(key, rest.every((w) => all.includes(w)) && noted.every((w) => notes.includes(w))
          && [...exact].every(([column, any]) => any.includes(own[column])));
      }
      return known.get(key);
    };
    return (i) => (!layers || layers.includes(values.layer[i])) && named(i);
  },

  refresh(state) {
    const want = this.wanted();
    const only = document.getElementById('only-chosen').checked;
    const withUntrained = document.getElementById('untrained').checked;
    const found = [];
    for (let i = 0; i < values.value.length; i++) {
      if (!withUntrained && values.baseline[i]) continue;
      if (only && (values.series[i] !== state.series || values.pair[i] !== state.pair || values.measure[i] !== state.measure)) continue;
      if (want(i)) found.push(i);
    }
    this.order = found;
    this.sort();
    this.at = 0;
    this.draw();
  },

  sort() {
    if (this.by === null) { this.order.sort((a, b) => a - b); return; }
    const get = COLUMNS.find(([name]) => name === this.by)[1];
    const keys = new Map(this.order.map((i) => [i, get(i)]));
    const way = this.down ? -1 : 1;
    const missing = (v) => v === null || v === undefined || v === '';
    this.order.sort((a, b) => {
      const x = keys.get(a), y = keys.get(b);
      if (missing(x) || missing(y)) return missing(x) - missing(y) || a - b;
      return (x < y ? -way : x > y ? way : 0) || a - b;
    });
  },

  head() {
    const row = element('tr');
    for (const [name, , digits] of this.shownColumns) {
      const cell = element('th', { scope: 'col', ...(digits === undefined ? {} : { class: 'number' }) });
      const arrow = this.by === name ? (this.down ? ' ▼' : ' ▲') : '';
      const button = element('button', { type: 'button', 'data-column': name }, (titles[name] ?? name) + arrow);
      if (this.by === name) cell.setAttribute('aria-sort', this.down ? 'descending' : 'ascending');
      button.addEventListener('click', () => {
        this.down = this.by === name ? !this.down : false;
        this.by = name;
        this.sort(); this.at = 0; this.head(); this.draw();
        document.querySelector(`#table [data-column="${name}"]`).focus();
      });
      cell.append(button);
      row.append(cell);
    }
    document.querySelector('#table thead').replaceChildren(row);
  },

  draw() {
    const some = this.order.slice(this.at, this.at + PAGE);
    const rows = some.map((i) => {
      const row = element('tr');
      for (const [name, get, digits] of this.shownColumns) {
        const value = get(i);
        const number = digits !== undefined;
        const text = number ? (value === null ? '–' : value.toFixed(digits)) : name === 'baseline' ? (value ? 'yes' : '') : value;
        const cell = element('td', number ? { class: 'number' } : { dir: 'auto' }, text);
        if (!number && String(text).length > 24) cell.title = text;
        row.append(cell);
      }
      return row;
    });
    document.querySelector('#table tbody').replaceChildren(...rows);
    const n = this.order.length;
    document.getElementById('page-shown').textContent = n ? `${(this.at + 1).toLocaleString('en')} to ${Math.min(n, this.at + PAGE).toLocaleString('en')} of ${n.toLocaleString('en')}` : this.unknown ? `no column ${this.unknown}: there are model, pooling, layer, source, target, measure (whole names) and notes` : 'no row has that';
    document.getElementById('before').disabled = this.at === 0;
    document.getElementById('after').disabled = this.at + PAGE >= n;
  },

  turn(pages) { this.at = Math.max(0, this.at + pages * PAGE); this.draw(); },

  // All rows that pass the filter, in their order; text that a spreadsheet would run gets a quote before it.
  csv() {
    const cell = (value, number) => {
      if (value === null || value === undefined) return '';
      let text = typeof value === 'boolean' ? (value ? 'True' : 'False') : String(value);
      if (!number && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
      return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    const columns = drawn.columns.map((name) => COLUMNS.find(([known]) => known === name));
    const lines = this.order.map((i) => columns.map(([, get, digits]) => cell(get(i), digits !== undefined)).join());
    return [drawn.columns.join(), ...lines].join('\n') + '\n';
  },
};
