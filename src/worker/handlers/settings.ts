import { fault } from '../../core/errors.ts';

/** The environment variable that carries the settings to child processes. */
export const SETTINGS_VARIABLE = 'LEASEHOLD_HANDLERS';

export const BUILTIN_NAMES = ['aggregate', 'echo', 'shell', 'http', 'js'] as const;
export type BuiltinName = (typeof BUILTIN_NAMES)[number];

/** The operator's settings for the built-in handlers. Never part of a task. */
export interface HandlerSettings {
  /** `sign`: variables of the environment whose values may sign requests; true: any. */
  readonly http?: { readonly allow?: readonly string[]; readonly sign?: readonly string[] | true };
  readonly js?: { readonly root?: string };
  /** Default: all. */
  readonly only?: readonly BuiltinName[];
}

/** The environment that carries the settings to a child process. */
export function settingsEnvironment(settings: HandlerSettings): Readonly<Record<string, string>> {
  return { [SETTINGS_VARIABLE]: JSON.stringify(settings) };
}

/** Unknown settings are refused: a typo must not allow what was meant to be forbidden. */
export function parseSettings(text: string | undefined): HandlerSettings {
  if (text === undefined || text === '') return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refuse('it is not JSON');
  }
  const { http, js, only } = fieldsOf('it', value, ['http', 'js', 'only']);
  return {
    ...(http === undefined ? {} : { http: readHttp(http) }),
    ...(js === undefined ? {} : { js: readJs(js) }),
    ...(only === undefined ? {} : { only: readNames(only) }),
  };
}

function readHttp(value: unknown): NonNullable<HandlerSettings['http']> {
  const { allow, sign } = fieldsOf('http', value, ['allow', 'sign']);
  return {
    ...(allow === undefined ? {} : { allow: readTexts('http.allow', allow) }),
    ...(sign === undefined ? {} : { sign: sign === true ? sign : readTexts('http.sign', sign) }),
  };
}

function readJs(value: unknown): NonNullable<HandlerSettings['js']> {
  const { root } = fieldsOf('js', value, ['root']);
  if (root === undefined) return {};
  if (typeof root !== 'string' || root === '') throw refuse('js.root must be the path of a folder');
  return { root };
}

function readNames(value: unknown): readonly BuiltinName[] {
  const names = readTexts('only', value);
  const stranger = names.find((name) => !BUILTIN_NAMES.includes(name as BuiltinName));
  if (stranger === undefined) return names as readonly BuiltinName[];
  throw refuse(`${JSON.stringify(stranger)} in only is not one of ${BUILTIN_NAMES.join(', ')}`);
}

function readTexts(place: string, value: unknown): readonly string[] {
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value;
  throw refuse(`${place} must be a list of texts`);
}

function fieldsOf(place: string, value: unknown, known: readonly string[]): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse(`${place} must be an object`);
  const stranger = Object.keys(value).find((key) => !known.includes(key));
  if (stranger !== undefined) throw refuse(`${JSON.stringify(stranger)} is not one of ${known.join(', ')}`);
  return value as Readonly<Record<string, unknown>>;
}

function refuse(problem: string): Error {
  return fault('INVALID_INPUT', { field: SETTINGS_VARIABLE, problem });
}
