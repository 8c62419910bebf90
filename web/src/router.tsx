/** The router: every view has an address. Paths are written without the base: `/tasks/task_1?x=y`. */

import { type AnchorHTMLAttributes, type MouseEvent, useMemo, useSyncExternalStore } from 'react';

const BASE = '/ui';
const listeners = new Set<() => void>();
let navigated = false;
const notify = (): void => {
  navigated = true;
  for (const listener of listeners) listener();
};

/** Whether the user has navigated since the page was loaded. */
export const hasNavigated = (): boolean => navigated;

addEventListener('popstate', notify);

export interface PageLocation {
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
}

const currentAddress = (): string => `${location.pathname.replace(/^\/ui(?=\/|$)/, '') || '/'}${location.search}`;

export function useLocation(): PageLocation {
  const text = useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, currentAddress);
  return useMemo(() => {
    const [path = '/', query = ''] = text.split(/\?(.*)/s);
    return { path: path.replace(/(?<=.)\/+$/, ''), query };
  }, [text]);
}

export function go(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (BASE + to === location.pathname + location.search) return;
  history[replace ? 'replaceState' : 'pushState'](null, '', BASE + to);
  if (!replace && !to.startsWith(currentAddress().split('?')[0] as string)) scrollTo(0, 0);
  notify();
}

/** Changes the query of the address; the screen stays. */
export function setQuery(query: string): void {
  go(`${currentAddress().split('?')[0]}${query === '' ? '' : `?${query}`}`, { replace: true });
}

export function hrefOf(to: string): string {
  return BASE + to;
}

interface LinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  readonly to: string;
}

export function Link({ to, onClick, ...rest }: LinkProps) {
  const follow = (event: MouseEvent<HTMLAnchorElement>): void => {
    onClick?.(event);
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    event.preventDefault();
    go(to);
  };
  return <a href={BASE + to} onClick={follow} {...rest} />;
}

export const segment = (text: string): string => encodeURIComponent(text);

/** The decoded part of a path. A malformed one is returned as it is. */
export function unsegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
