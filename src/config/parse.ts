import { isIP } from 'node:net';
import { type Duration, parseDuration } from '../core/duration.ts';
import { fault } from '../core/errors.ts';
import { type LimitUseInput, normalizeUses } from '../core/limits/limit.ts';
import { checkKey, checkName, checkWorkerId } from '../core/names.ts';
import { NODE_OVERRIDES, type NodeOverride } from '../core/node.ts';
import { checkPattern, normalizePermissions, type Permissions } from '../core/placement/permissions.ts';
import { parseTest } from '../core/placement/tag.ts';
import { SETTINGS_KINDS, type SettingsWord } from '../core/settings/kinds.ts';

/** Parses the text of a flag or a variable. `name` is its name in errors. */
export type Parse<T> = (text: string, name: string) => T;

export function filled(text: string, name: string): string {
  if (text !== '') return text;
  throw refuse(name, 'it is empty');
}

export function portNumber(text: string, name: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw refuse(name, `${quote(text)} is not a whole number from 0 to 65535`);
}

export function wholeNumber(min: number, max: number): Parse<number> {
  return (text, name) => {
    const number = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw refuse(name, `${quote(text)} is not a whole number from ${min} to ${max}`);
  };
}

export function oneOf<const T extends string>(...words: readonly T[]): Parse<T> {
  return (text, name) => {
    const found = words.find((word) => word === text);
    if (found !== undefined) return found;
    throw refuse(name, `${quote(text)} is not one of ${words.join(', ')}`);
  };
}

export const poolName: Parse<string> = (text) => checkName('pool', text);

interface LauncherText {
  readonly kind: string;
  readonly [setting: string]: unknown;
}

/** The kind of a launcher alone, or JSON with its settings. */
export function launcherText(text: string, name: string): LauncherText {
  if (!text.startsWith('{')) return { kind: checkName('launcher', text) };
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    given = undefined;
  }
  const { kind } = (given ?? {}) as Partial<LauncherText>;
  if (typeof kind === 'string') return { ...(given as LauncherText), kind: checkName('launcher', kind) };
  throw refuse(name, 'it is a kind, or JSON with one, such as {"kind": "subprocess"}');
}

/** Accepts old spellings of a value. */
export function renamed<T>(spellings: Readonly<Record<string, string>>, parse: Parse<T>): Parse<T> {
  return (text, name) => parse(Object.hasOwn(spellings, text) ? (spellings[text] as string) : text, name);
}

/** A comma list of these words, or `none`. */
export function someOf<const T extends string>(...words: readonly T[]): Parse<readonly T[]> {
  return (text, name) => (text === 'none' ? [] : commaList(oneOf(...words))(text, name));
}

export function commaList<T>(parse: Parse<T>): Parse<readonly T[]> {
  return (text, name) =>
    filled(text, name)
      .split(',')
      .map((part) => parse(part.trim(), name));
}

export function duration(text: string, name: string): number {
  return parseDuration(text, name);
}

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
};

/** `2GiB`, `500MB`, or bytes. */
export function byteSize(text: string, name: string): number {
  const [, count = '', unit = ''] = /^(\d{1,12}(?:\.\d{1,3})?) ?([a-z]{0,3})$/i.exec(text) ?? [];
  const factor = UNITS[unit.toLowerCase()];
  const bytes = count === '' || factor === undefined ? Number.NaN : Math.floor(Number(count) * factor);
  if (Number.isSafeInteger(bytes)) return bytes;
  throw refuse(name, `${quote(text)} is not a size such as 2GiB, 500MB or 1000000`);
}

export function atLeast(minMs: number): (input: Duration, name: string) => number {
  return (input, name) => {
    const ms = parseDuration(input, name);
    if (ms >= minMs) return ms;
    throw refuse(name, `${quote(String(input))} is less than ${minMs}ms`);
  };
}

export function secondsAtLeast(minMs: number): Parse<number> {
  return (text, name) => atLeast(minMs)(secondsOrDuration(text), name);
}

export const nodeOverride: Parse<NodeOverride> = oneOf(...NODE_OVERRIDES);

/** Other programs write `true` and `false`. */
export function onOrOff(text: string, name: string): boolean {
  const word = oneOf('on', 'off', 'true', 'false', '1', '0')(text.toLowerCase(), name);
  return word === 'on' || word === 'true' || word === '1';
}

/** Variables that count in seconds take a bare number, whole or not, and also a number with a unit. */
export function secondsOrDuration(text: string): Duration {
  return /^\d{1,9}(\.\d{1,3})?$/.test(text) ? Math.round(Number(text) * 1000) : text;
}

export function hostName(text: string, name: string): readonly string[] {
  if (/^[a-z0-9]([a-z0-9.:-]{0,251}[a-z0-9])?$/i.test(text)) return [text];
  throw refuse(name, `${quote(text)} is not the name or address of a host`);
}

/** An address without a path, so that joining it with a path cannot go wrong. */
export function publicUrl(text: string, name: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && (text === url.origin || text === `${url.origin}/`)) {
    return url.origin;
  }
  throw refuse(name, `${quote(text)} is not an address like https://tasks.example.org or http://10.0.0.5:7420`);
}

export function queueName(text: string): readonly string[] {
  return [checkName('queue', text)];
}

export function handlerName(text: string): string {
  return checkName('handler', text);
}

export function workerName(text: string): string {
  return checkName('worker', text);
}

/** The name of any worker; workers of other programs may have capitals and colons. */
export function workerId(text: string): string {
  return checkWorkerId('worker name', text);
}

export function tagName(text: string, name: string): readonly string[] {
  return [checkKey(name, text)];
}

export function settingsKind(text: string, name: string): readonly SettingsWord[] {
  return [oneOf(...SETTINGS_KINDS)(text, name)];
}

export function keyText(text: string, name: string): string {
  return checkKey(name, text);
}

export function tagTest(text: string, name: string): readonly string[] {
  parseTest(name, text);
  return [text];
}

/** A name, or the beginning of names followed by `*`. */
export function namePattern(text: string, name: string): readonly string[] {
  return [checkPattern(name, text)];
}

export function permissionsJson(text: string, name: string): Permissions | undefined {
  return normalizePermissions(jsonText(text, name), name);
}

export function jsonMap(text: string, name: string): Readonly<Record<string, unknown>> {
  const value = jsonText(text, name);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw refuse(name, 'it is not a map');
}

/** A signal for a machine: `approval/42={"ok": true}`; the data is null without it. A dash: they come on standard input. */
export type SignalText = '-' | { readonly channel: string; readonly data: unknown };

/** A folder by a name: `main=/srv/work`. */
export function namedFolder(text: string, name: string): readonly NamedFolder[] {
  const [, root, folder] = /^([a-z0-9][a-z0-9_-]{0,62})=(.+)$/s.exec(text) ?? [];
  if (root !== undefined && folder !== undefined) return [{ name: root, folder }];
  throw refuse(name, `${quote(text)} is not NAME=FOLDER, with a name of small letters, digits, - and _`);
}

/** An absolute path: a relative one would mean another folder to each process. */
export function absoluteFolder(text: string, name: string): readonly string[] {
  if (/^(\/|[A-Za-z]:[\\/])/.test(text)) return [text];
  throw refuse(name, `${quote(text)} is not the absolute path of a folder`);
}

export interface NamedFolder {
  readonly name: string;
  readonly folder: string;
}

export function signalText(text: string, name: string): readonly SignalText[] {
  if (text === '-') return ['-'];
  const at = text.indexOf('=');
  const channel = at === -1 ? text : text.slice(0, at);
  if (channel.trim() === '') throw refuse(name, `${quote(text)} is not CHANNEL=JSON`);
  return [{ channel, data: at === -1 ? null : jsonText(text.slice(at + 1), `${name} ${channel}`) }];
}

function jsonText(text: string, name: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw refuse(name, `it is not JSON (${(error as Error).message})`);
  }
}

/** `none` removes a bound. */
export function orNone<T>(parse: Parse<T>): Parse<T | null> {
  return (text, name) => (text === 'none' ? null : parse(text, name));
}

export interface Span {
  readonly max: number;
  readonly windowMs: number;
}

/** `100/1m`. */
export function rate(text: string, name: string): Span {
  const [max = '', window, ...more] = text.split('/');
  if (!/^\d{1,10}$/.test(max) || window === undefined || more.length > 0) {
    throw refuse(name, `${quote(text)} is not a number and a time, such as 100/1m`);
  }
  return { max: Number(max), windowMs: parseDuration(window, name) };
}

/** `openai`, `openai:alice`, `openai:alice*2`: a `*` with digits at the very end is the weight. */
export function limitUse(text: string, name: string): readonly LimitUseInput[] {
  const [, limit = '', key, weight] = /^([^:*]*)(?::(.*?))?(?:\*(\d{1,10}))?$/s.exec(text) ?? [];
  if (limit === '' || key === '') throw refuse(name, `${quote(text)} is not NAME, NAME:KEY or NAME:KEY*WEIGHT`);
  const use = {
    name: limit,
    ...(key === undefined ? {} : { key }),
    ...(weight === undefined ? {} : { weight: Number(weight) }),
  };
  normalizeUses([use]);
  return [use];
}

/** A host name, an address, or a network in CIDR form. */
export function networkPlace(text: string, name: string): string {
  const [address = '', prefix, ...more] = text.split('/');
  const family = isIP(address);
  if (prefix === undefined && (family !== 0 || /^(?=.{1,253}$)[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(text)))
    return text;
  const bits = /^\d{1,3}$/.test(prefix ?? '') ? Number(prefix) : Number.NaN;
  if (family !== 0 && more.length === 0 && bits <= (family === 6 ? 128 : 32)) return text;
  throw refuse(name, `${quote(text)} is not a host, an address or a network like 10.0.0.0/8`);
}

/** A host of repositories: `github.com`, `*.example.com`, `git.example.com:8443`, `[::1]:8080`. */
export function repoHost(text: string, name: string): string {
  const host = String.raw`(?:\*\.)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\]`;
  if (text.length <= 260 && new RegExp(`^(?:${host})(?::\\d{1,5})?$`, 'i').test(text)) return text;
  throw refuse(name, `${quote(text)} is not a host like github.com, *.example.com or git.example.com:8443`);
}

/** The name of an environment variable. */
export function variableName(text: string, name: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]{0,199}$/.test(text)) return text;
  throw refuse(name, `${quote(text)} is not the name of a variable`);
}

function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}
