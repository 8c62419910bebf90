/** Voting over the answers of an agent: what counts as one, and when one of them has won. */
import { isMap, numberIn, type Value, type ValueMap } from '../expression/values.ts';
import { StateError } from '../machine/scopes.ts';
import { Regex } from '../regex/regex.ts';
import { canonicalJson, fitsSchema } from './json-schema.ts';
import type { AgentResult } from './result.ts';

type RedFlag = 'format_error' | 'validation_failed' | 'length_exceeded';

/** How an agent's metadata reads its answers: `parsing` and `validation`. */
export interface AnswerRules {
  readonly parsing: readonly (readonly [field: string, pattern: Regex, kind: string])[];
  readonly validation: Value;
  readonly maxResponseTokens: number | undefined;
}

const MOST_WORK = 5_000_000;
/** As it is estimated where nobody counts. */
const CHARS_PER_TOKEN = 4;

/** Throws a `StateError` for a pattern that cannot be read. */
export function answerRules(metadata: ValueMap, maxResponseTokens: number | undefined): AnswerRules {
  const { parsing, validation } = metadata;
  const fields = isMap(parsing) ? Object.entries(parsing) : [];
  return {
    parsing: fields.flatMap(([field, rule]) => {
      const { pattern, type } = isMap(rule) ? rule : {};
      if (typeof pattern !== 'string' || pattern === '') return [];
      return [[field, regexOf(field, pattern), typeof type === 'string' ? type : 'str'] as const];
    }),
    validation: validation ?? undefined,
    maxResponseTokens,
  };
}

function regexOf(field: string, pattern: string): Regex {
  try {
    // A dot also stands for the end of a line.
    return new Regex(`(?s)${pattern}`);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new StateError('ValidationError', `metadata.parsing.${field}.pattern: ${problem}`);
  }
}

/** What an answer votes for, or why it does not count. */
export function candidateOf(rules: AnswerRules, { content = '', output }: AgentResult): ValueMap | RedFlag {
  const candidate =
    rules.parsing.length > 0 ? parsed(rules, content) : (output ?? (content === '' ? undefined : { content }));
  if (candidate === undefined) return 'format_error';
  if (rules.validation !== undefined && !fitsSchema(rules.validation, candidate)) return 'validation_failed';
  const length = (content === '' ? JSON.stringify(candidate) : content).length;
  const { maxResponseTokens } = rules;
  const isLong = maxResponseTokens !== undefined && Math.floor(length / CHARS_PER_TOKEN) > maxResponseTokens;
  return isLong ? 'length_exceeded' : candidate;
}

function parsed({ parsing }: AnswerRules, content: string): ValueMap | undefined {
  let work = MOST_WORK;
  const values: [string, Value][] = [];
  for (const [field, pattern, kind] of parsing) {
    const found = pattern.match(content, (count) => {
      work -= count;
      if (work < 0) throw new StateError('ValidationError', `metadata.parsing.${field}: the answer is too long for it`);
    });
    // The first group, or all of it where there is none.
    const text = found?.groups[1] ?? (found !== undefined && found.groups.length === 1 ? found.groups[0] : undefined);
    const value = text === undefined ? undefined : valueOf(kind, text);
    if (value === undefined) return undefined;
    values.push([field, value]);
  }
  return Object.fromEntries(values);
}

function valueOf(kind: string, text: string): Value {
  switch (kind) {
    case 'json':
      try {
        return JSON.parse(text) as Value;
      } catch {
        return undefined;
      }
    case 'int': {
      const number = numberIn(text);
      return Number.isInteger(number) ? number : undefined;
    }
    case 'float':
      return numberIn(text);
    case 'bool':
      return /^\s*true\s*$/i.test(text) ? true : /^\s*false\s*$/i.test(text) ? false : undefined;
    default:
      return text;
  }
}

/** Counts votes. Of those with equally many, the one that was first named is ahead. */
export class Ballot {
  readonly #margin: number;
  readonly #votes = new Map<string, { readonly candidate: ValueMap; count: number }>();
  readonly flags: Partial<Record<RedFlag, number>> = {};

  constructor(margin: number) {
    this.#margin = margin;
  }

  /** The winner, if this vote has decided: ahead of the next by the margin. A candidate alone needs as many votes as the margin. */
  vote(cast: ValueMap | RedFlag): ValueMap | undefined {
    if (typeof cast === 'string') {
      this.flags[cast] = (this.flags[cast] ?? 0) + 1;
      return undefined;
    }
    const key = canonicalJson(cast);
    const held = this.#votes.get(key) ?? { candidate: cast, count: 0 };
    held.count++;
    this.#votes.set(key, held);
    // As the first implementation had it: so many votes are enough, whatever the others have.
    if (held.count >= this.#margin) return held.candidate;
    const [first, second] = this.#ranked();
    return first !== undefined && first.count - (second?.count ?? 0) >= this.#margin ? first.candidate : undefined;
  }

  /** With the most votes; undefined if nobody has voted. */
  get leader(): ValueMap | undefined {
    return this.#ranked()[0]?.candidate;
  }

  #ranked(): readonly { readonly candidate: ValueMap; readonly count: number }[] {
    return [...this.#votes.values()].sort((a, b) => b.count - a.count);
  }
}
