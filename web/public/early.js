// Before the first paint: theme and language as they were chosen the last time, so that nothing flashes.
(function () {
  var root = document.documentElement;
  try {
    var theme = localStorage.getItem("danlu.theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    var language = localStorage.getItem("danlu.language");
    if (language) root.lang = language === "zh" ? "zh-CN" : "en";
  } catch (_) {
    // storage may be forbidden; the system's own settings do
  }
})();
