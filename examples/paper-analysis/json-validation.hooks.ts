/** What an analysis must be before anybody sees it, whichever model wrote it; and where it is written. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

interface Context {
  readonly paper: { readonly id: number; readonly path: string; readonly title: string };
  readonly text: string;
  readonly analysis: unknown;
  readonly rounds: number;
}

/** More would not fit into a prompt, and a paper says what it is about at its begin. */
const MOST_CHARACTERS = 60_000;
const MOST_ROUNDS = 3;
const { SUMMARIES = 'summaries' } = process.env;

export default class JsonValidationHooks {
  onAction(_state: string, action: string, context: Context): object | undefined {
    switch (action) {
      case 'read_paper':
        return { text: textOf(context.paper.path) };
      case 'validate_json':
        return validate(context);
      case 'write_summary':
        return { summary_path: write(context) };
      default:
        return undefined;
    }
  }
}

function textOf(path: string): string {
  const text = readFileSync(path, 'utf8').slice(0, MOST_CHARACTERS);
  if (text.trim() === '') throw new Error(`${path} is empty`);
  return text;
}

/** A model may mend what it is told of; after the last round the paper fails with what was wrong. */
function validate({ analysis, text, rounds, paper }: Context): object {
  const problem = problemOf(analysis, text);
  if (problem !== undefined && rounds + 1 >= MOST_ROUNDS) throw new Error(`the analysis of ${paper.title}: ${problem}`);
  return { problem: problem ?? null, rounds: rounds + 1 };
}

function problemOf(analysis: unknown, text: string): string | undefined {
  const { summary, key_points, quotes } = (analysis ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof summary !== 'string' || summary.trim().length < 40) return '"summary" is a text of 40 characters or more';
  for (const [name, list] of Object.entries({ key_points, quotes })) {
    if (
      !Array.isArray(list) ||
      list.length === 0 ||
      !list.every((one) => typeof one === 'string' && one.trim() !== '')
    ) {
      return `"${name}" is a list of one or more texts`;
    }
  }
  const plain = (one: string): string => one.replace(/\s+/g, ' ').trim();
  const whole = plain(text);
  const invented = (quotes as readonly string[]).find((quote) => !whole.includes(plain(quote)));
  return invented === undefined ? undefined : `the paper does not say ${JSON.stringify(invented.slice(0, 120))}`;
}

/** All of it or nothing: whoever sees the file sees a whole one. */
function write({ paper, analysis }: Context): string {
  const file = resolve(join(SUMMARIES, `${paper.id}.json`));
  const draft = `${file}.${process.pid}`;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(draft, `${JSON.stringify({ title: paper.title, ...(analysis as object) }, undefined, 2)}\n`);
  renameSync(draft, file);
  return file;
}
