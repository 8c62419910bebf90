import type { AnyTask } from '../define/definition.ts';
import { aggregate as aggregateTask } from './aggregate.ts';
import { echo as echoTask } from './echo.ts';
import { makeHttp } from './http/http.ts';
import { makeJs } from './js.ts';
import { BUILTIN_NAMES, type BuiltinName, parseSettings, SETTINGS_VARIABLE } from './settings.ts';
import { makeShell } from './shell.ts';

// The module that child processes import for the handlers that come with leasehold: its exports are the tasks.

// oxlint-disable-next-line node/no-process-env, no-restricted-properties -- runs in a child process, and this is how its worker hands it what it needs
const settings = parseSettings(process.env[SETTINGS_VARIABLE]);

export { BUILTIN_NAMES };
/** The module that a child process loads; in the published package it has another extension. */
export const BUILTIN_MODULE: string = import.meta.url;

export const aggregate = offered('aggregate', aggregateTask);
export const echo = offered('echo', echoTask);
export const shell = offered('shell', makeShell());
export const http = offered('http', makeHttp({ ...settings.http, secretOf }));
export const js = offered('js', makeJs(settings.js));

function secretOf(name: string): string | undefined {
  const { sign = [] } = settings.http ?? {};
  if (sign !== true && !sign.includes(name)) return undefined;
  // oxlint-disable-next-line node/no-process-env, no-restricted-properties -- a key stays in the environment of the worker that signs
  return process.env[name];
}

/** Undefined when the settings exclude it; the search for tasks among the exports skips that. */
function offered<T extends AnyTask>(name: BuiltinName, definition: T): T | undefined {
  if (!(settings.only ?? BUILTIN_NAMES).includes(name)) return undefined;
  return Object.freeze({ ...definition, isolation: 'process', module: BUILTIN_MODULE });
}
