/** Where the task of a node may run, how long, and how often it is tried. */
import { parseDuration } from '../../core/duration.ts';
import { isEngineError } from '../../core/errors.ts';
import { normalizeUses } from '../../core/limits/limit.ts';
import { checkName } from '../../core/names.ts';
import { normalizePlacement, type PlacementInput } from '../../core/placement/placement.ts';
import { normalizeRetry, type RetryInput } from '../../core/task/retry.ts';
import { isList, isMap, kindOf, type Value, type ValueMap } from '../expression/values.ts';
import { meant } from '../machine/fields.ts';
import type { Path, Problems } from '../machine/problems.ts';
import type { NodeRequest } from './definition.ts';
import type { NodeReading } from './node-reading.ts';
import type { NodeType } from './node-types.ts';

const CONFIG = new Set(['agents', 'requiredTags', 'tags', 'concurrencyGroup']);
const RETRY = new Set(['attempts', 'delay', 'factor', 'maxDelay', 'jitter']);
const MOST_ATTEMPTS = 1000;
/** The handlers of ours that do the work of known types. */
const HANDLERS = { http: 'http', append_to_file: 'shell', run_command: 'shell' } as const;
/** A number is in seconds, as the document has it. */
const SECOND = 1000;

interface Given {
  readonly fields: ValueMap;
  readonly data: ValueMap;
}

export function readRequest(
  type: string,
  known: NodeType,
  given: Given,
  path: Path,
  reading: NodeReading,
): NodeRequest {
  const { problems } = reading;
  const { fields, data } = given;
  const handler =
    known.work === 'handler' ? handlerOf(type, path, problems) : HANDLERS[known.work as keyof typeof HANDLERS];
  const own = fields['timeout'] ?? (known.work === 'handler' ? undefined : data['timeout']);
  const at = [...path, ...(fields['timeout'] === undefined ? ['data'] : []), 'timeout'];
  return {
    handler,
    timeout: timeoutOf(own === undefined ? undefined : durationIn(own, at, problems), known, fields),
    ...agentsIn(given, path, reading),
    ...retryIn(fields['retry'], [...path, 'retry'], problems),
    ...optional('queue', nameIn('queue', fields['queue'], [...path, 'queue'], problems)),
    ...optional('priority', wholeIn(fields['priority'], [...path, 'priority'], problems)),
  };
}

/** The request itself ends first, and says why. */
const AFTER_REQUEST = 5 * SECOND;

function timeoutOf(own: number | undefined, { work, timeoutMs }: NodeType, fields: ValueMap): number {
  if (own === undefined) return timeoutMs;
  return work === 'http' && fields['timeout'] === undefined ? own + AFTER_REQUEST : own;
}

const optional = <K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } =>
  value === undefined ? {} : ({ [key]: value } as { readonly [P in K]: V });

function handlerOf(type: string, path: Path, problems: Problems): string {
  return nameIn('handler', type, [...path, 'typeId'], problems) ?? type;
}

/** What the rest of the program says against it becomes a problem of this place. */
function checked<T>(path: Path, problems: Problems, check: () => T): T | undefined {
  try {
    return check();
  } catch (error) {
    if (!isEngineError(error)) throw error;
    const problem = error.details?.['problem'];
    problems.error(path, typeof problem === 'string' ? problem : error.message);
    return undefined;
  }
}

function nameIn(kind: string, value: Value, path: Path, problems: Problems): string | undefined {
  return value === undefined ? undefined : checked(path, problems, () => checkName(kind, value));
}

function wholeIn(value: Value, path: Path, problems: Problems): number | undefined {
  if (value === undefined || Number.isSafeInteger(value)) return value as number | undefined;
  problems.error(path, `expected a whole number, found ${kindOf(value)}`);
  return undefined;
}

function durationIn(value: Value, path: Path, problems: Problems): number | undefined {
  const text = typeof value === 'number' ? Math.round(value * SECOND) : value;
  // Numbers are also written as texts in forms of editors.
  const given = typeof text === 'string' && /^\d+$/.test(text) ? Number(text) * SECOND : text;
  const ms = checked(path, problems, () => parseDuration(given as number | string, 'timeout'));
  if (ms !== 0) return ms;
  problems.error(path, 'it is at least 1ms');
  return undefined;
}

/** In `agentConfig`, which is on the node or in its data, or on the node itself. */
function agentsIn({ fields, data }: Given, path: Path, { problems, groups }: NodeReading): Partial<NodeRequest> {
  const [config, place] = configIn(fields, data, path, problems);
  const agents = listIn('agents', config, place, problems);
  const tags = [...listIn('requiredTags', config, place, problems), ...listIn('tags', config, place, problems)];
  const credentials = credentialsIn(fields, data, path, problems);
  const placement: PlacementInput = {
    ...(agents.length === 0 ? {} : { only: agents }),
    ...(tags.length === 0 ? {} : { requires: tags }),
    ...(credentials.length === 0 ? {} : { credentials }),
  };
  checked(place, problems, () => normalizePlacement(placement));
  const group = config['concurrencyGroup'] ?? undefined;
  const limits = group === undefined || group === '' ? [] : [group as string];
  const at = [...place, 'concurrencyGroup'];
  const uses = checked(at, problems, () => normalizeUses(limits));
  const unknown = uses?.find(({ name }) => groups?.has(name) === false);
  if (unknown !== undefined) {
    problems.error(at, `there is no limit ${JSON.stringify(unknown.name)}${meant(unknown.name, groups ?? [])}`);
  }
  return {
    ...(Object.keys(placement).length === 0 ? {} : { placement }),
    ...(limits.length === 0 ? {} : { limits }),
  };
}

function configIn(fields: ValueMap, data: ValueMap, path: Path, problems: Problems): readonly [ValueMap, Path] {
  const places: readonly (readonly [ValueMap, Path])[] = [
    [fields, path],
    [data, [...path, 'data']],
  ];
  for (const [within, at] of places) {
    for (const name of ['agentConfig', 'agent_config']) {
      const config = within[name] ?? undefined;
      if (config === undefined) continue;
      const place = [...at, name];
      if (!isMap(config)) {
        problems.error(place, `expected a map, found ${kindOf(config)}`);
        return [{}, place];
      }
      for (const field of Object.keys(config)) {
        if (!CONFIG.has(field))
          problems.error([...place, field], `there is no field "${field}"${meant(field, CONFIG)}`);
      }
      return [config, place];
    }
  }
  // `tags` of a node itself would be something else.
  const { agents, requiredTags, concurrencyGroup } = fields;
  return [{ agents, requiredTags, concurrencyGroup }, path];
}

function listIn(field: string, config: ValueMap, path: Path, problems: Problems): readonly string[] {
  const value = config[field] ?? [];
  if (isList(value) && value.every((one) => typeof one === 'string')) return value as readonly string[];
  problems.error([...path, field], 'expected a list of texts');
  return [];
}

/** The worker must hold it. Programs have called it by several names. */
function credentialsIn(fields: ValueMap, data: ValueMap, path: Path, problems: Problems): readonly string[] {
  const spellings: readonly (readonly [ValueMap, string, Path])[] = [
    [fields, 'required_credential', path],
    [fields, 'requiredCredential', path],
    [data, 'required_credential', [...path, 'data']],
    [data, 'requiredCredential', [...path, 'data']],
    [data, 'credentialName', [...path, 'data']],
  ];
  return spellings.flatMap(([within, name, at]) => {
    const value = within[name] ?? '';
    if (typeof value === 'string') return value === '' ? [] : [value];
    problems.error([...at, name], `expected a text, found ${kindOf(value)}`);
    return [];
  });
}

/** `{ attempts, delay, factor, maxDelay, jitter }`, of which numbers of time are in seconds. */
function retryIn(value: Value, path: Path, problems: Problems): Partial<NodeRequest> {
  if (value === undefined || value === null) return {};
  if (!isMap(value)) {
    problems.error(path, `expected a map, found ${kindOf(value)}`);
    return {};
  }
  for (const field of Object.keys(value)) {
    if (!RETRY.has(field)) problems.error([...path, field], `there is no field "${field}"${meant(field, RETRY)}`);
  }
  const { attempts, delay, factor, maxDelay, jitter } = value;
  const retry = Object.fromEntries(
    Object.entries({ baseMs: secondsIn(delay), factor, maxMs: secondsIn(maxDelay), jitter }).filter(
      ([, one]) => one !== undefined,
    ),
  ) as RetryInput;
  checked(path, problems, () => normalizeRetry(retry));
  const tries = attempts as number | undefined;
  if (tries !== undefined && !(Number.isInteger(tries) && tries >= 1 && tries <= MOST_ATTEMPTS)) {
    problems.error([...path, 'attempts'], `expected a whole number from 1 to ${MOST_ATTEMPTS}`);
  }
  return {
    ...optional('maxAttempts', tries),
    ...(Object.keys(retry).length === 0 ? {} : { retry }),
  };
}

const secondsIn = (value: Value): Value => (typeof value === 'number' ? Math.round(value * SECOND) : value);
