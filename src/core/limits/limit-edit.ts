import { fault } from '../errors.ts';
import { type Limit, type LimitInput, normalizeLimit, type Rate, type RateInput, type Strategy } from './limit.ts';

/** A change of a rate. A field that is not given stays as it is. */
export type RateEdit = { readonly [K in keyof RateInput]?: RateInput[K] | undefined };

/** A change of a limit. A field that is not given stays as it is; null removes the bound. */
export interface LimitEdit {
  readonly concurrent?: number | null | undefined;
  readonly perKey?: number | null | undefined;
  readonly rate?: RateEdit | null | undefined;
  readonly cost?: RateEdit | null | undefined;
  readonly strategy?: Strategy | undefined;
  readonly backlog?: number | null | undefined;
}

/** The conditions of an edit. */
export interface EditTerms {
  /** `new`: there must be no such limit yet; `there`: there must be one. Not given: it is made where there is none. */
  readonly must?: 'new' | 'there' | undefined;
  /** The revision that the author has read: nothing is changed if it is another one by now. */
  readonly ifRevision?: number | undefined;
}

interface StoredLimit {
  readonly limit: Limit;
  readonly revision: number;
}

/**
 * The limit after an edit; undefined if that changes nothing. A store calls it while it has locked the limit, so that nobody changes it
 * between the read and the write.
 */
export function editLimit(
  name: string,
  before: StoredLimit | undefined,
  edit: LimitEdit,
  terms: EditTerms = {},
): Limit | undefined {
  checkTerms(name, before, terms);
  const limit = normalizeLimit(merged(before?.limit, edit));
  return JSON.stringify(limit) === JSON.stringify(before?.limit) ? undefined : limit;
}

function checkTerms(name: string, before: StoredLimit | undefined, { must, ifRevision }: EditTerms): void {
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

/** A burst that nobody chose keeps following the rate. */
function isChosen({ max, windowMs, burst }: Rate): boolean {
  return normalizeLimit({ rate: { max, window: windowMs } }).rate?.burst !== burst;
}

/** Without undefined fields; null becomes undefined, which removes the bound. */
function given(edit: object): object {
  const defined = Object.entries(edit).filter(([, value]) => value !== undefined);
  return Object.fromEntries(defined.map(([key, value]) => [key, value ?? undefined]));
}
