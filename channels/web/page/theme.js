// The chosen theme. This is no module, so that it is set before the page is drawn.
document.documentElement.dataset.theme = localStorage.getItem('theme') || 'system';
