import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fallbackOf, flagOf, optionOf, usageOf } from '../../config/options.ts';
import { COMMANDS } from '../commands.ts';
import { type Command, isGroup } from './command.ts';
import { helpFor, helpForAll, helpForGroup, usageLine } from './help.ts';
import { version } from './version.ts';

/** Every command under the words that lead to it. */
async function everyCommand(): Promise<ReadonlyMap<string, Command & { readonly entryDoc: string }>> {
  const all = new Map<string, Command & { readonly entryDoc: string }>();
  for (const [word, entry] of Object.entries(COMMANDS)) {
    const entries = isGroup(entry)
      ? Object.entries(entry.commands).map(([second, inner]) => [`${word} ${second}`, inner] as const)
      : [[word, entry] as const];
    for (const [words, { doc, load }] of entries) all.set(words, { ...(await load()), entryDoc: doc });
  }
  return all;
}

test('every command is what the list of commands says of it', async () => {
  for (const [words, { name, doc, entryDoc, options }] of await everyCommand()) {
    assert.equal(name, words);
    assert.equal(doc, entryDoc, words);
    assert.match(doc, /^[A-Z].*[^.]$/);
    assert.ok(options.includes('json'), `${words} takes --json`);
  }
});

test('no command takes two options of one flag', async () => {
  for (const [words, { options }] of await everyCommand()) {
    const flags = options.map(flagOf);
    assert.equal(new Set(flags).size, flags.length, words);
  }
});

test('the help of a command has its usage, its arguments, each of its options with the default, and two examples', async () => {
  for (const [words, command] of await everyCommand()) {
    const page = helpFor(command);
    assert.ok(page.startsWith(`leasehold ${words}`), page);
    for (const { name, doc } of command.args ?? [])
      assert.match(page, new RegExp(`^  ${name.replace(/[|]/g, '\\|')} +${doc.slice(0, 10)}`, 'm'));
    for (const key of command.options) {
      assert.ok(page.includes(usageOf(key)), `${words} ${key}`);
      if (optionOf(key).value !== undefined) assert.ok(page.includes(`default ${fallbackOf(key)}`), `${words} ${key}`);
    }
    for (const { line } of command.examples ?? []) assert.ok(line.includes(words), line);
    assert.ok(words === 'version' || (command.examples?.length ?? 0) >= 2, `${words} has two examples`);
  }
});

test('a command shows only its own options', () => {
  assert.match(helpFor(version), /--json/);
  assert.doesNotMatch(helpFor(version), /--port/);
});

test('the lists of commands have one line for each, no wider than a terminal', () => {
  const page = helpForAll(COMMANDS);
  for (const [name, { doc }] of Object.entries(COMMANDS))
    assert.match(page, new RegExp(`^  ${name}\\b.* ${doc.slice(0, 20)}`, 'm'));
  const groups = Object.entries(COMMANDS).flatMap(([name, entry]) =>
    isGroup(entry) ? [helpForGroup(name, entry)] : [],
  );
  assert.equal(groups.length, 19);
  for (const line of [page, ...groups].join('\n').split('\n')) assert.ok(line.length <= 118, line);
});

test('the reference page has a section for every command, with its usage and its sentence', async () => {
  const page = readFileSync(new URL('../../../docs/reference/cli.md', import.meta.url), 'utf8');
  const sections = [...page.matchAll(/^### `([^`]+)`\n\n(.+)$/gm)].map(([, usage, doc]) => [usage, doc]);
  const declared = [...(await everyCommand()).values()].map((command) => [usageLine(command), `${command.doc}.`]);
  assert.deepEqual(sections, declared);
});
