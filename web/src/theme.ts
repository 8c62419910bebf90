/** The theme: as the system has it, light or dark, kept in the browser. */

import { Signal } from './live/signal.ts';

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'leasehold.theme';

function savedTheme(): Theme {
  try {
    const theme = localStorage.getItem(KEY);
    return theme === 'light' || theme === 'dark' ? theme : 'system';
  } catch {
    return 'system';
  }
}

export const theme = new Signal<Theme>(savedTheme());

export function setTheme(to: Theme): void {
  theme.set(to);
  const { dataset } = document.documentElement;
  if (to === 'system') delete dataset.theme;
  else dataset.theme = to;
  try {
    if (to === 'system') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, to);
  } catch {
    // Storage is closed: the theme holds for this page only.
  }
}
