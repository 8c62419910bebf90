import type { Reason } from './task.ts';

/** What similar errors have in common. */
export interface Fingerprint {
  /** The same for all of them, for ever: people link to it. */
  readonly id: string;
  /** Their text with `<n>`, `<id>`, `<word>`, … where they differ. */
  readonly pattern: string;
}

/** The rest of a longer text is ignored: the cause is at its beginning. */
const MOST_TEXT = 2000;
const MOST_PATTERN = 300;

/**
 * Colours, cursor moves, titles and links, with all that they carry. Built from text: the linter reports a control
 * character in a literal pattern.
 */
const [ESC, CSI, OSC, END] = ['\\u001b', '\\u009b', '\\u009d', '(?:\\u0007|\\u001b\\\\|\\u009c)'];
const TERMINAL_SEQUENCES = new RegExp(
  [`(?:${ESC}\\]|${OSC})\\P{Cc}*${END}`, `(?:${ESC}\\[|${CSI})[0-?]*[ -/]*[@-~]`, `${ESC}[ -/]*[0-Z\\\\^-~]`].join('|'),
  'gu',
);

/** In this order: what a later rule would tear apart comes first. Each rule is linear, whatever the text. */
const RULES: readonly (readonly [RegExp, string])[] = [
  [TERMINAL_SEQUENCES, ''],
  [/[\p{Cc}\s]+/gu, ' '],
  [/\b(?:[a-z]{2,10}_)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, '<id>'],
  [/\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'`<>)\]]+/gi, '<url>'],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?/g, '<time>'],
  [/"[^"]*"/g, '<word>'],
  [/`[^`]*`/g, '<word>'],
  // An apostrophe within a word is not a quote: can't.
  [/(?<![\p{L}\p{N}])'[^']*'(?![\p{L}\p{N}])/gu, '<word>'],
  [
    /(?<![\p{L}\p{N}.<])(?:[a-z]:)?(?:[\\/]|\.{1,2}[\\/]|~[\\/])[\w.@~+-]+(?:[\\/][\w.@~+-]*)*(?::\d+){0,2}/giu,
    '<path>',
  ],
  [/\b[a-z]{2,10}_[0-9a-z]{10,}\b/g, '<id>'],
  [/\b0x[0-9a-f]+\b/gi, '<hex>'],
  // At least eight characters, one of them a digit: "deadbeef" is a word, "deadbee1" is not.
  [/\b(?=[a-f]*\d)[0-9a-f]{8,}\b/gi, '<hex>'],
  [/\d+(?:[.,]\d+)*/g, '<n>'],
];

/** Errors that differ only in numbers, ids, times, addresses, paths and quoted words have the same fingerprint. */
export function fingerprint(message: string): Fingerprint {
  let text = message.slice(0, MOST_TEXT).toWellFormed();
  for (const [find, put] of RULES) text = text.replace(find, put);
  const pattern = text.trim().slice(0, MOST_PATTERN).toWellFormed();
  return { id: hashOf(pattern), pattern };
}

const REASONS: Partial<Record<Reason, string>> = {
  exhausted: 'Its lease ran out, and it has no tries left.',
  timeout: 'It waited too long for its first start.',
  undeliverable: 'It was given back too often before it was started.',
};

/** The message of a failed task's error, in whatever form it was stored. The stored text may be cut off. */
export function failureMessage(error: string | undefined, reason: Reason): string {
  if (error === undefined) return REASONS[reason] ?? 'It says nothing about why.';
  const value = readJson(error) ?? cutMessage(error) ?? error;
  const message = typeof value === 'object' ? (value as { readonly message?: unknown }).message : value;
  return typeof message === 'string' && message !== ''
    ? message.slice(0, MOST_TEXT).toWellFormed()
    : error.slice(0, MOST_TEXT).toWellFormed();
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The message in JSON that was cut off, as far as it is there. */
function cutMessage(text: string): string | undefined {
  const quoted = /"message":"((?:[^"\\]|\\[^u]|\\u[0-9a-fA-F]{4})*)/.exec(text)?.[1];
  return quoted === undefined ? undefined : (readJson(`"${quoted}"`) as string | undefined);
}

/** FNV-1a twice, 64 bits in all: it tells groups apart, and is not for security. */
function hashOf(text: string): string {
  let [a, b] = [0x811c9dc5, 0x050c5d1f];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code ^ (b >>> 15), 0x85ebca6b);
  }
  return [a, b].map((part) => (part >>> 0).toString(16).padStart(8, '0')).join('');
}
