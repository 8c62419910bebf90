import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flagOf, OPTION_KEYS } from '../config/options.ts';
import { helpFor, helpForAll } from './help.ts';
import { up } from './up.ts';
import { version } from './version.ts';

test('every option belongs to a command, whose help names it with its default', () => {
  const page = helpFor(up);
  for (const key of OPTION_KEYS) assert.ok(page.includes(flagOf(key)), key);
  assert.match(page, /--port PORT +Port to listen on; 0 picks a free one\n +default 7420; variable LEASEHOLD_PORT/);
});

test('a command shows only its own options', () => {
  assert.match(helpFor(version), /--json/);
  assert.doesNotMatch(helpFor(version), /--port/);
});

test('the list of commands has one line for each, no wider than a terminal', () => {
  const page = helpForAll([up, version]);
  for (const { name, doc } of [up, version]) assert.match(page, new RegExp(`^  ${name} +${doc.slice(0, 20)}`, 'm'));
  for (const line of page.split('\n')) assert.ok(line.length <= 100, line);
});
