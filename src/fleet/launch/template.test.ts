import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fill, fillArguments, fillJson, problemOfTemplate } from './template.ts';

const values = { pool: 'papers', ticket_id: 'tk_1', args: ['worker', '--once', 'a b'] };
const KNOWN = Object.keys(values);

test('a placeholder is filled as a whole argument and within one', () => {
  assert.deepEqual(fillArguments(['{pool}', '--name={pool}-{ticket_id}'], values), ['papers', '--name=papers-tk_1']);
});

test('a list is several arguments where it is a whole one, and JSON within a text', () => {
  assert.deepEqual(fillArguments(['run', '{args}'], values), ['run', 'worker', '--once', 'a b']);
  assert.deepEqual(fillArguments(['{"command":{args}}'], values), ['{"command":["worker","--once","a b"]}']);
});

test('braces of other languages stay as they are', () => {
  for (const text of ['{"a":{"b":1}}', '{{.ID}}', '{{json .}}', '${HOME}', '{}', '{Pool}', 'a{1,2}']) {
    assert.equal(problemOfTemplate(text, KNOWN), undefined, text);
    assert.equal(fill(text, values), text === '${HOME}' ? '${HOME}' : text);
  }
});

test('in JSON the texts are filled, and a list stays one', () => {
  const given = { pool: '{pool}', command: '{args}', of: [{ name: 'x-{ticket_id}', n: 1, none: null }] };
  assert.deepEqual(fillJson(given, values), {
    pool: 'papers',
    command: values.args,
    of: [{ name: 'x-tk_1', n: 1, none: null }],
  });
});

test('two braces are the text of one', () => {
  assert.equal(fill('{{pool}} is {pool}', values), '{pool} is papers');
});

test('what a value holds is not filled again', () => {
  assert.equal(fill('{pool}', { pool: '{ticket_id}', ticket_id: 'x' }), '{ticket_id}');
});

test('an unknown placeholder is named, with the one that was meant', () => {
  assert.equal(problemOfTemplate('--x={pol}', KNOWN), 'there is no placeholder {pol}; did you mean {pool}?');
  assert.match(problemOfTemplate('{something}', KNOWN) ?? '', /there are \{pool\}, \{ticket_id\}, \{args\}$/);
});

test('the ticket in an argument is refused, with the way that it is handed over', () => {
  assert.match(problemOfTemplate('--ticket={ticket}', KNOWN) ?? '', /LEASEHOLD_TICKET/);
});

test('NUL ends an argument, so it is refused', () => {
  assert.match(problemOfTemplate('a\0b', KNOWN) ?? '', /NUL/);
});
