/**
 * Placeholders in texts of an operator: `{pool}` stands for a value, and `{{pool}}` for the text `{pool}`. Other braces, such as those of JSON,
 * stay as they are.
 */
import { suggest } from '../../core/suggest.ts';

/** A list stands for several arguments where it is a whole argument, and for its JSON within a text. */
export type Values = Readonly<Record<string, string | readonly string[]>>;

const PLACEHOLDER = /\{\{([a-z][a-z_]*)\}\}|\{([a-z][a-z_]*)\}/g;

/** The first problem of a text; undefined: it can be filled. */
export function problemOfTemplate(text: string, known: readonly string[]): string | undefined {
  if (text.includes('\0')) return 'must not contain NUL';
  const stranger = namesIn(text).find((name) => !known.includes(name));
  if (stranger === undefined) return undefined;
  if (stranger === 'ticket') {
    return 'must not contain {ticket}, because others on the host see arguments: the ticket is in the variable LEASEHOLD_TICKET';
  }
  const near = suggest(stranger, known);
  return near === undefined
    ? `there is no placeholder {${stranger}}; there are ${known.map((name) => `{${name}}`).join(', ')}`
    : `there is no placeholder {${stranger}}; did you mean {${near}}?`;
}

export function fill(text: string, values: Values): string {
  return text.replace(PLACEHOLDER, (whole, quoted: string | undefined, name: string) => {
    if (quoted !== undefined) return `{${quoted}}`;
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
}

export function fillArguments(argv: readonly string[], values: Values): readonly string[] {
  return argv.flatMap((argument) => {
    const whole = /^\{([a-z][a-z_]*)\}$/.exec(argument)?.[1];
    const list = whole === undefined ? undefined : values[whole];
    return typeof list === 'object' ? list : [fill(argument, values)];
  });
}

/** Texts within JSON are filled, keys are not. A list that is a whole text stays a list. */
export function fillJson(value: unknown, values: Values): unknown {
  if (typeof value === 'string') {
    const whole = /^\{([a-z][a-z_]*)\}$/.exec(value)?.[1];
    return (whole === undefined ? undefined : values[whole]) ?? fill(value, values);
  }
  if (Array.isArray(value)) return value.map((one) => fillJson(one, values));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, fillJson(one, values)]));
}

export function namesIn(text: string): readonly string[] {
  return [...text.matchAll(PLACEHOLDER)].flatMap(([, , name]) => name ?? []);
}
