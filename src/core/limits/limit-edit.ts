import { fault } from '../errors.ts';
import { type Limit, type LimitInput, normalizeLimit, type Rate, type RateInput, type Strategy } from './limit.ts';

/** What is to change of a rate. What is not given stays as it is. */
export type RateEdit = { readonly [K in keyof RateInput]?: RateInput[K] | undefined };

/** What is to change of a limit. What is not given stays as it is, null takes the bound away. */
export interface LimitEdit {
  readonly concurrent?: number | null | undefined;
  readonly perKey?: number | null | undefined;
  readonly rate?: RateEdit | null | undefined;
  readonly cost?: RateEdit | null | undefined;
  readonly strategy?: Strategy | undefined;
  readonly backlog?: number | null | undefined;
}

/** On which terms an edit is made. */
export interface EditTerms {
  /** `new`: there must be none yet; `there`: there must be one. Not given: one is made where there is none. */
  readonly must?: 'new' | 'there' | undefined;
  /** The revision that its author has read: nothing is changed if it is another one by now. */
  readonly ifRevision?: number | undefined;
}

interface Kept {
  readonly limit: Limit;
  readonly revision: number;
}

/**
 * The limit after an edit; undefined where it is so already. A store asks while it has the limit to itself, so that nobody changes it between
 * the question and the write.
 */
export function editLimit(
  name: string,
  before: Kept | undefined,
  edit: LimitEdit,
  terms: EditTerms = {},
): Limit | undefined {
  checkTerms(name, before, terms);
  const limit = normalizeLimit(merged(before?.limit, edit));
  return JSON.stringify(limit) === JSON.stringify(before?.limit) ? undefined : limit;
}

function checkTerms(name: string, before: Kept | undefined, { must, ifRevision }: EditTerms): void {
  if (before === undefined) {
    if (must !== 'there' && ifRevision === undefined) return;
    throw fault('NOT_FOUND', { kind: 'limit', id: name });
  }
  if (must === 'new') {
    const hint = 'Change it with PATCH, or choose another name.';
    throw fault('CONFLICT', { problem: `there is a limit ${name} already` }, { hint });
  }
  if (ifRevision === undefined || ifRevision === before.revision) return;
  const problem = `somebody has changed the limit ${name} meanwhile: it has revision ${before.revision}, not ${ifRevision}`;
  throw fault('CONFLICT', { problem }, { hint: 'Nothing was changed. Look at it as it is now, then change it.' });
}

function merged(before: Limit | undefined, edit: LimitEdit): LimitInput {
  return {
    ...before,
    ...given(edit),
    rate: mergedRate('rate', before?.rate, edit.rate),
    cost: mergedRate('cost', before?.cost, edit.cost),
  };
}

function mergedRate(
  kind: 'rate' | 'cost',
  before: Rate | undefined,
  edit: RateEdit | null | undefined,
): RateInput | undefined {
  if (edit === null || (edit === undefined && before === undefined)) return undefined;
  const { max = before?.max, window = before?.windowMs, ...rest } = edit ?? {};
  if (max === undefined || window === undefined) throw noRate(kind, rest);
  const kept = before && { perKey: before.perKey, ...(isChosen(before) ? { burst: before.burst } : {}) };
  return { ...kept, ...given(rest), max, window };
}

function noRate(kind: 'rate' | 'cost', { burst, perKey }: RateEdit): Error {
  const field = `limit.${kind}${burst !== undefined ? '.burst' : perKey !== undefined ? '.perKey' : ''}`;
  const problem = `there is no ${kind} that it could change; give max and window too`;
  return fault('INVALID_INPUT', { field, problem }, { hint: `On a command line, give --${kind} too.` });
}

/** A burst that nobody chose stays what follows from the rate. */
function isChosen({ max, windowMs, burst }: Rate): boolean {
  return normalizeLimit({ rate: { max, window: windowMs } }).rate?.burst !== burst;
}

/** Null is said, what is undefined is not. */
function given(edit: object): object {
  const said = Object.entries(edit).filter(([, value]) => value !== undefined);
  return Object.fromEntries(said.map(([key, value]) => [key, value ?? undefined]));
}
