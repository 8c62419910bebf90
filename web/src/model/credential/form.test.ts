import assert from 'node:assert/strict';
import { test } from 'node:test';
import { credentialIn, emptyDraft } from './form.ts';

test('a text is sent as it was typed, with who may hold it', () => {
  const draft = { ...emptyDraft(' github '), value: ' pass word ', workers: 'a, b', tags: 'gpu', level: 'keyring' };
  assert.deepEqual(credentialIn(draft, true), {
    body: { name: 'github', value: ' pass word ', workers: ['a', 'b'], tags: ['gpu'], level: 'keyring' },
    problems: {},
  });
});

test('another value leaves alone who may hold it, and how', () => {
  const { body } = credentialIn({ ...emptyDraft('github'), value: 'x', level: 'keyring' }, false);
  assert.deepEqual(body, { name: 'github', value: 'x' });
});

test('fields are sent by their names, and empty rows are not', () => {
  const fields = [
    { name: ' user ', value: 'ada' },
    { name: 'password', value: ' p ' },
    { name: '', value: '' },
  ];
  const { body, problems } = credentialIn({ ...emptyDraft('db', 'fields', 'postgres'), fields }, true);
  assert.deepEqual([body, problems], [{ name: 'db', fields: { user: 'ada', password: ' p ' }, type: 'postgres' }, {}]);
  assert.equal(credentialIn({ ...emptyDraft('db', 'fields'), fields }, true).body.type, 'fields');
});

test('what is missing or wrong is told where it is', () => {
  const problemsOf = (more: object) => credentialIn({ ...emptyDraft('db'), ...more }, true).problems;
  assert.deepEqual(Object.keys(problemsOf({ name: 'No', value: 'x' })), ['name']);
  assert.deepEqual(problemsOf({}), { value: 'A credential is not empty' });
  const fields = (...rows: [string, string][]) =>
    problemsOf({ kind: 'fields', fields: rows.map(([name, value]) => ({ name, value })) }).fields;
  assert.equal(fields(['', '']), 'A credential has a field at least');
  assert.equal(fields(['', 'x']), 'Each value has a name');
  assert.equal(fields(['a', 'x'], ['a ', 'y']), 'a is there twice');
});
