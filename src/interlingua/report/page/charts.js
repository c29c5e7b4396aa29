// Charts: specifications come from report/curves.py, maps.py and bars.py; here they get their rows, and clicks mean something.

const measure = (state) => data.measures[state.measure];
const notBaseline = (list) => list.filter((i) => !values.baseline[i]);
const byLayer = (a, b) => a.layer - b.layer;

const matrixRows = (state) => {
  const rows = notBaseline(rowsOf('values', ['series', 'measure', 'layer'], state.series, state.measure, state.layer)).map((i) => asRow(i));
  const one = new Set(rows.map((r) => r.source)).size === 1 || new Set(rows.map((r) => r.target)).size === 1;
  if (!measure(state).symmetric || one) return rows;
  return rows.concat(rows.map((r) => ({ ...r, source: r.target, target: r.source })));
};
const columnsOf = (table, list, columns, texts = []) => list.map((i) => {
  const row = {};
  for (const name of columns) row[name] = texts.includes(name) ? said(tables[table][name][i]) : tables[table][name][i];
  return row;
});
const detail = (table, columns, texts) => (state) =>
  columnsOf(table, rowsOf(table, ['series', 'pair', 'layer'], state.series, state.pair, state.layer), columns, texts);
const geometry = (state) =>
  columnsOf('geometry', rowsOf('geometry', ['series'], state.series), ['lang', 'layer', 'baseline', 'anisotropy', 'effective_rank', 'outlier_share', 'language_share'], ['lang'])
    .map((row) => ({ ...row, series: data.series[state.series].name }));

// Maps of layer against layer: each model or two, each pair and measure that was asked for. Also of pairs and of models
// that have no curve here, so they have a choice of their own.
const layerMaps = [];
tables.layers.value.forEach((_, i) => {
  const [series, pair, which] = ['series', 'pair', 'measure'].map((name) => tables.layers[name][i]);
  let found = layerMaps.find((each) => each.series === series && each.pair === pair && each.measure === which);
  if (!found) layerMaps.push((found = { series, pair, measure: which, rows: [] }));
  found.rows.push(i);
});
const mapName = (k) => `${data.measures[layerMaps[k].measure].name}, ${pairName(layerMaps[k].pair)}, ${data.series[layerMaps[k].series].name}`;

const markLayer = (state) => ({ marked_layer: state.layer });
// Bands of more than two models hide one another: only the chosen one has its own.
const markModel = (state) => ({ marked_layer: state.layer, focus: measuredSeries.length > 2 ? data.series[state.series].name : '' });
const markPair = (state) => ({ marked_pair: pairName(state.pair) });
const geometryChart = { rows: geometry, needs: ['series'], signals: markLayer };

// name -> its rows, which choices those depend on, and the parameters that follow the choice
const CHARTS = {
  curves: {
    rows: (s) => measuredSeries.flatMap((k) => rowsOf('values', ['series', 'pair', 'measure', 'baseline'], k, s.pair, s.measure, 0).map((i) => asRow(i))).sort(byLayer),
    needs: ['pair', 'measure'], signals: markModel,
  },
  spread: {
    rows: (s) => notBaseline(rowsOf('values', ['measure'], s.measure)).map((i) => asRow(i, false)),
    needs: ['measure'], signals: markModel,
  },
  map: {
    rows: (s) => notBaseline(rowsOf('values', ['series', 'measure'], s.series, s.measure)).map((i) => asRow(i)),
    needs: ['series', 'measure'], signals: markPair,
  },
  matrix: { rows: matrixRows, needs: ['series', 'measure', 'layer'], signals: markPair },
  agreement: {
    rows: (s) => notBaseline(rowsOf('values', ['series', 'pair'], s.series, s.pair)).map((i) => asRow(i)),
    needs: ['series', 'pair'], signals: markLayer,
  },
  matching: {
    rows: (s) => notBaseline(rowsOf('values', ['series', 'layer'], s.series, s.layer)).map((i) => asRow(i)).filter((r) => drawn.retrieval.includes(r.measure)),
    needs: ['series', 'layer'],
  },
  histograms: { rows: detail('histograms', ['from', 'to', 'neurons'], []), needs: ['series', 'pair', 'layer'] },
  prepared: { rows: detail('prepared', ['preparation', 'value', 'low', 'high'], ['preparation']), needs: ['series', 'pair', 'layer'] },
  layers: {
    rows: (s) => columnsOf('layers', layerMaps[s.map].rows, ['source_layer', 'target_layer', 'value']),
    needs: ['map'],
  },
  anisotropy: geometryChart, effective_rank: geometryChart, outlier_share: geometryChart, language_share: geometryChart,
};

const tip = document.getElementById('tip');
const tell = (_handler, event, _item, value) => {
  if (value === null || value === undefined || value === '' || typeof value !== 'object') { tip.hidden = true; return; }
  const list = element('dl');
  for (const [name, content] of Object.entries(value)) {
    if (content === null || content === undefined || content === '' || content === 'null') continue;
    if (name === 'signature' || name === 'note') { list.append(element('dd', { class: 'long' }, `${name}: ${content}`)); continue; }
    list.append(element('dt', {}, name), element('dd', { dir: 'auto' }, String(content)));
  }
  tip.replaceChildren(list);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const x = event.clientX + 14, y = event.clientY + 14;
  tip.style.left = `${Math.max(4, x + width > innerWidth ? event.clientX - width - 10 : x)}px`;
  tip.style.top = `${Math.max(4, y + height > innerHeight ? event.clientY - height - 10 : y)}px`;
};

const captionOf = (name) =>
  drawn.charts[name].caption + (CHARTS[name].signals === markModel && measuredSeries.length > 2 ? ' Of several models only the chosen one has its band and these lines.' : '');

class Chart {
  constructor(name, onClick) {
    this.name = name;
    this.figure = document.getElementById(`fig-${name}`);
    this.place = this.figure.querySelector('.chart');
    this.onClick = onClick;
    this.view = null;
    this.seen = {};
    this.visible = false;
    this.empty(false);
    this.place.setAttribute('role', 'img');
    this.inner = this.place.appendChild(element('div'));
  }

  async build(state) {
    this.view?.finalize();
    const { rows, signals } = CHARTS[this.name];
    const held = rows(state), set = signals ? signals(state) : {};
    const bare = drawn.charts[this.name][document.documentElement.dataset.theme];
    const spec = {
      ...bare,
      data: bare.data.map((each) => (each.name === 'rows' ? { ...each, values: held } : each)),
      signals: (bare.signals ?? []).map((each) => (each.name in set ? { ...each, value: set[each.name] } : each)),
    };
    // `ast`: expressions are interpreted, so that the page need not allow scripts made from text.
    const made = await vegaEmbed(this.inner, spec, { mode: 'vega', ast: true, renderer: 'svg', actions: false, defaultStyle: false, tooltip: tell, logLevel: 1 });
    this.view = made.view;
    this.view.addEventListener('click', (event, item) => this.onClick(this, event, item));
    this.seen = { ...state };
    this.empty(held.length === 0);
  }

  empty(nothing) {
    this.figure.classList.toggle('empty', nothing);
    this.figure.querySelector('figcaption').textContent = nothing ? 'This was not measured for what is chosen.' : captionOf(this.name);
  }

  // True where something changed.
  fill(state) {
    const { rows, needs, signals } = CHARTS[this.name];
    let changed = false;
    if (needs.some((need) => this.seen[need] !== state[need])) {
      const found = rows(state);
      this.view.data('rows', found);
      this.empty(found.length === 0);
      changed = true;
    }
    for (const [name, value] of Object.entries(signals ? signals(state) : {})) {
      if (this.view.signal(name) !== value) { this.view.signal(name, value); changed = true; }
    }
    this.seen = { ...state };
    return changed;
  }

  async show(state, rebuild = false) {
    if (!this.visible) { this.waiting = true; this.rebuild ||= rebuild; return; }
    this.waiting = false;
    if (this.view === null || rebuild || this.rebuild) { this.rebuild = false; await this.build(state); }
    else if (this.fill(state)) await this.view.runAsync();
  }

  // The layer under the pointer, where layers run from left to right.
  layerAt(event, item) {
    // The datum of a line or a band is its first row, wherever it was clicked.
    const point = !['line', 'area'].includes(item?.mark?.marktype);
    if (point && item?.datum && Number.isInteger(item.datum.layer)) return item.datum.layer;
    if (!('marked_layer' in (CHARTS[this.name].signals?.(this.seen) ?? {}))) return null;
    const x = event.clientX - this.place.querySelector('svg').getBoundingClientRect().left - this.view.origin()[0];
    const at = Math.round(this.view.scale('x').invert(x));
    return Number.isFinite(at) ? at : null;
  }
}
