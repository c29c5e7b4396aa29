// What is chosen, and everything that follows the choice.

const $ = (id) => document.getElementById(id);
const state = {};
const charts = [];

const remembered = () => { try { return localStorage.getItem('interlingua-theme'); } catch { return null; } };
const setTheme = (theme) => {
  document.documentElement.dataset.theme = theme;
  $('theme').setAttribute('aria-pressed', String(theme === 'dark'));
  $('theme').textContent = theme === 'dark' ? 'Light' : 'Dark';
};
const dark = matchMedia('(prefers-color-scheme: dark)');
setTheme(remembered() ?? (dark.matches ? 'dark' : 'light'));
const redraw = () => Promise.all(charts.map((chart) => chart.show(state, true)));
$('theme').addEventListener('click', () => {
  setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
  try { localStorage.setItem('interlingua-theme', document.documentElement.dataset.theme); } catch { /* no memory, no harm */ }
  redraw();
});
dark.addEventListener('change', () => { if (!remembered()) { setTheme(dark.matches ? 'dark' : 'light'); redraw(); } });

for (const button of document.querySelectorAll('.copy')) {
  const label = button.textContent;
  button.addEventListener('click', async () => {
    const place = $(button.dataset.copy);
    try { await navigator.clipboard.writeText(place.textContent); button.textContent = 'Copied'; }
    catch { getSelection().selectAllChildren(place); button.textContent = 'Selected: press Ctrl+C'; }
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}

const options = (select, numbers, name) => {
  select.replaceChildren(...numbers.map((k) => element('option', { value: k }, name(k))));
};

const say = () => {
  const words = { measure: measure(state).name, pair: pairName(state.pair), series: data.series[state.series].name, layer: String(state.layer) };
  for (const place of document.querySelectorAll('[data-say]')) place.textContent = words[place.dataset.say];
  for (const chart of charts) {
    const heading = chart.figure.querySelector('h3').textContent.replace(/\s+/g, ' ').trim();
    chart.place.setAttribute('aria-label', `Chart: ${heading}. ${captionOf(chart.name)} ${$('readout').firstChild ? [...$('readout').childNodes].filter((node) => node.nodeName !== 'SMALL').map((node) => node.textContent).join('') : ''}`);
  }
};

// Choose some of series, pair, measure (numbers) and layer; done when every chart in sight shows it.
const choose = async (choice) => {
  const before = { ...state };
  Object.assign(state, choice);
  const most = layersOf(state.series);
  state.layer = Math.max(0, Math.min(most, state.layer));
  for (const name of ['series', 'pair', 'measure']) $(name).value = state[name];
  $('layer').max = most; $('layer').value = state.layer; $('layer-shown').textContent = state.layer;
  if (layerMaps.length && (before.series !== state.series || before.pair !== state.pair)) {
    const own = layerMaps.findIndex((each) => each.series === state.series && each.pair === state.pair);
    if (own >= 0) state.map = own;
  }
  if (layerMaps.length) $('map').value = state.map;
  $('explanation').textContent = measure(state).explained;
  $('explained').hidden = !measure(state).explained;
  const changed = (...names) => names.some((name) => before[name] !== state[name]);
  showReadout(state);
  say();
  if (changed('series', 'pair', 'layer')) { showNeurons(state); showWorst(state); }
  if ($('only-chosen').checked && changed('series', 'pair', 'measure')) table.refresh(state);
  await Promise.all(charts.map((chart) => chart.show(state)));
};

const clicked = (chart, event, item) => {
  if (['map', 'matrix', 'matching'].includes(chart.name)) {
    const datum = item?.datum;
    if (!datum?.pair) return;
    const pair = data.pairs.findIndex((_, k) => pairName(k) === datum.pair);
    if (pair >= 0) choose(chart.name === 'map' ? { pair, layer: datum.layer } : { pair });
    return;
  }
  const layer = chart.layerAt(event, item);
  if (layer === null) return;
  const named = item?.mark?.marktype === 'symbol' ? item.datum?.series : undefined;
  const series = data.series.findIndex((each) => each.name === named);
  choose(series >= 0 && chart.name !== 'agreement' ? { layer, series } : { layer });
};

const start = () => {
  options($('series'), measuredSeries, (k) => data.series[k].name);
  options($('pair'), measuredPairs, pairName);
  options($('measure'), measuredMeasures, (k) => data.measures[k].name);
  if (layerMaps.length) options($('map'), [...layerMaps.keys()], mapName);
  for (const name of ['series', 'pair', 'measure', 'layer', 'map']) {
    $(name).addEventListener(name === 'layer' ? 'input' : 'change', () => choose({ [name]: Number($(name).value) }));
  }
  $('controls').addEventListener('submit', (event) => event.preventDefault());
  for (const name of Object.keys(CHARTS)) {
    const figure = $(`fig-${name}`);
    if (!drawn.charts[name]) figure.remove();
    else charts.push(new Chart(name, clicked));
  }
  // One language against all others is a single row of cells: it gets the width.
  if ([0, 1].some((side) => new Set(measuredPairs.map((k) => data.pairs[k][side])).size === 1)) {
    for (const name of ['map', 'matrix']) $(`fig-${name}`)?.classList.add('wide');
  }
  if (!tables.neurons.neuron.length) $('neurons').remove();
  if (!tables.worst.place.length && !drawn.charts.matching) $('worst').remove();
  if (!$('geometry').children.length) { for (const id of ['geometry', 'geometry-title', 'geometry-lead']) $(id).remove(); }

  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const chart = charts.find((each) => each.figure === entry.target);
      chart.visible = entry.isIntersecting;
      if (chart.visible && (chart.waiting || chart.view === null)) chart.show(state);
    }
  }, { rootMargin: '400px 0px' });
  for (const chart of charts) watch.observe(chart.figure);
  addEventListener('beforeprint', () => { for (const chart of charts) { chart.visible = true; chart.show(state); } });
  addEventListener('scroll', () => { tip.hidden = true; }, { passive: true });

  table.head();
  let soon = 0;
  $('filter').addEventListener('input', () => { clearTimeout(soon); soon = setTimeout(() => table.refresh(state), 120); });
  for (const id of ['only-chosen', 'untrained']) $(id).addEventListener('change', () => table.refresh(state));
  $('before').addEventListener('click', () => table.turn(-1));
  $('after').addEventListener('click', () => table.turn(1));
  $('download').addEventListener('click', () => {
    const link = element('a', { download: 'results.csv' });
    link.href = URL.createObjectURL(new Blob([table.csv()], { type: 'text/csv;charset=utf-8' }));
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });

  const first = drawn.chosen;
  table.refresh(state);
  return choose({
    series: data.series.findIndex((each) => each.name === first.series),
    pair: data.pairs.findIndex((pair) => pair[0] === first.pair[0] && pair[1] === first.pair[1]),
    measure: data.measures.findIndex((each) => each.name === first.measure),
    layer: first.layer, map: 0,
  });
};

if (drawn.chosen === null) {
  for (const id of ['explore', 'values']) $(id).remove();
} else {
  const ready = start();
  // For tests and for people who like to drive the page from the console.
  window.interlingua = { choose, state, ready, data };
}
