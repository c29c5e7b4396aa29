// What every page with a browser of its own has: its data, and the theme.

const $ = (id) => document.getElementById(id);
const data = JSON.parse($('data').textContent);
window.interlingua = { ready: Promise.resolve() };

const setTheme = (theme) => {
  document.documentElement.dataset.theme = theme;
  $('theme').setAttribute('aria-pressed', String(theme === 'dark'));
  $('theme').textContent = theme === 'dark' ? 'Light' : 'Dark';
};
setTheme(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
$('theme').addEventListener('click', () => setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'));
