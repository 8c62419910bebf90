/** Keyboard shortcuts. */

import { useEffect, useRef } from 'react';

export interface Key {
  /** `j`, `/`, `?`, `Enter`, or two in sequence: `g t`. */
  readonly keys: string;
  readonly does: string;
  readonly run: () => void;
  readonly group: string;
}

/** The last layer wins: a screen may override a key of the shell. */
const layers: { current: readonly Key[] }[] = [];
let pending = '';
let pendingAt = 0;

export function allKeys(): readonly Key[] {
  const seen = new Set<string>();
  return [...layers]
    .reverse()
    .flatMap(({ current }) => current)
    .filter(({ keys }) => !seen.has(keys) && seen.add(keys));
}

export function useKeys(keys: readonly Key[]): void {
  const layer = useRef(keys);
  layer.current = keys;
  useEffect(() => {
    layers.push(layer);
    return () => void layers.splice(layers.indexOf(layer), 1);
  }, []);
}

function typing(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement)
    return true;
  return target instanceof HTMLInputElement && !['checkbox', 'radio', 'button'].includes(target.type);
}

addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || typing(event.target)) return;
  if (document.querySelector('dialog[open]') !== null) return;
  // A button or a link handles Enter itself.
  if (
    (event.key === 'Enter' || event.key === ' ') &&
    (event.target as HTMLElement).closest?.('button, a, [role="button"], input')
  )
    return;
  const chord = pending !== '' && Date.now() - pendingAt < 1500 ? `${pending} ${event.key}` : event.key;
  pending = '';
  const keys = allKeys();
  const hit = keys.find((key) => key.keys === chord) ?? keys.find((key) => key.keys === event.key);
  if (hit !== undefined) {
    event.preventDefault();
    hit.run();
  } else if (keys.some((key) => key.keys.startsWith(`${event.key} `))) {
    pending = event.key;
    pendingAt = Date.now();
  }
});
