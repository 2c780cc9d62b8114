document.documentElement.dataset.js = "";
