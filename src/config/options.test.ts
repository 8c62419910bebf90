import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { loadConfig } from './load.ts';
import { type Config, fallbackOf, flagOf, OPTION_KEYS, type OptionKey, optionOf } from './options.ts';

const ALL = { name: 'up', options: OPTION_KEYS };

/** For every option a text other than its default and the value that it stands for; a new option must come here too. */
const SAMPLES: { readonly [K in OptionKey]: readonly [text: string, value: Config[K]] } = {
  dataDir: ['elsewhere', 'elsewhere'],
  store: ['memory:', 'memory:'],
  host: ['localhost', 'localhost'],
  port: ['8080', 8080],
  durability: ['normal', 'normal'],
  leaseDuration: ['90s', 90_000],
  retention: ['2d', 172_800_000],
  json: ['', true],
};

test('every option has a flag that sets it, and nothing else changes but what follows from it', () => {
  const plain = loadConfig(ALL, [], {});
  for (const key of OPTION_KEYS) {
    const [text, value] = SAMPLES[key];
    const args = optionOf(key).value === undefined ? [flagOf(key)] : [flagOf(key), text];
    const config = loadConfig(ALL, args, {});
    assert.deepEqual(config[key], value, key);
    assert.notDeepEqual(plain[key], value, `the sample of ${key} is not its default`);
    const expected = key === 'dataDir' ? { ...plain, dataDir: text, store: `sqlite:${text}/leasehold.db` } : plain;
    assert.deepEqual({ ...config, [key]: expected[key] }, expected, key);
  }
});

test('every variable of every option sets it', () => {
  for (const key of OPTION_KEYS) {
    const [text, value] = SAMPLES[key];
    for (const name of optionOf(key).env) assert.deepEqual(loadConfig(ALL, [], { [name]: text })[key], value, name);
  }
});

test('flags and variables have one owner each and are spelled as they are documented', () => {
  const flags = OPTION_KEYS.map(flagOf);
  assert.equal(new Set(flags).size, flags.length);
  for (const flag of flags) assert.match(flag, /^--[a-z]+(-[a-z]+)*$/);
  const names = OPTION_KEYS.flatMap((key) => optionOf(key).env);
  assert.equal(new Set(names).size, names.length);
  for (const name of names) assert.match(name, /^(LEASEHOLD|APFLOW)(_[A-Z]+)+$/);
  for (const key of OPTION_KEYS) {
    const { doc, value, env } = optionOf(key);
    assert.match(doc, /^[A-Z].*[^.]$/, key);
    assert.equal(env.length > 0, value !== undefined, `${key}: a switch has no variable, anything else has one`);
    assert.ok(env.length === 0 || env[0]?.startsWith('LEASEHOLD_'), `${key}: our own name comes first`);
  }
});

test('the reference page lists exactly the declared options, with their variables and defaults', () => {
  const page = readFileSync(new URL('../../docs/reference/config.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| `(--[^`]+)` \| (.*) \| `([^`]*)` \| (.+) \|$/gm)].map((row) => row.slice(1));
  const declared = OPTION_KEYS.map((key) => {
    const { doc, value, env } = optionOf(key);
    const names = env.map((name) => `\`${name}\``).join(', ') || '–';
    return [value === undefined ? flagOf(key) : `${flagOf(key)} ${value}`, names, fallbackOf(key), doc].map((cell) =>
      cell.replaceAll('|', '\\|'),
    );
  });
  assert.deepEqual(rows, declared);
});
