// Before the first paint, so that no page flashes in the colours of the other theme. A file of its own: inline scripts are forbidden.
try {
  const theme = localStorage.getItem('leasehold.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Where nothing may be kept, the theme is that of the system.
}
