import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gatherInputs } from './gather.ts';

const props = (...names: readonly string[]) => ({
  properties: Object.fromEntries(
    names.map((name) => name.split(':')).map(([name = '', type]) => [name, type ? { type } : {}]),
  ),
});

test('without results the inputs are as they were written, null too', () => {
  assert.equal(gatherInputs(null, undefined, []), null);
  assert.deepEqual(gatherInputs({ a: 1 }, undefined, []), { a: 1 });
});

test('a result is added under the id of its document, and overrides what was written there', () => {
  assert.deepEqual(gatherInputs({ a: 1, up: 'draft' }, undefined, [{ id: 'up', result: [2] }]), { a: 1, up: [2] });
  assert.deepEqual(gatherInputs(null, undefined, [{ id: 'up', result: null }]), { up: null });
});

test('properties that both sides declare with the same type are copied by name', () => {
  const out = props('text:string', 'size:number', 'more');
  const result = { text: 'hello', size: 5, more: true, extra: 1 };
  const gather = (into: ReturnType<typeof props> | undefined, given: unknown = result) =>
    gatherInputs({ text: '' }, into, [{ id: 'up', result: given, schema: out }]);
  assert.deepEqual(gather(props('text:string', 'other')), { text: 'hello' });
  assert.deepEqual(gather(props('text', 'more:boolean')), { text: 'hello', more: true });
  assert.deepEqual(gather(props('size:string')), { text: '', up: result }, 'the types differ');
  assert.deepEqual(gather(props('nothing')), { text: '', up: result });
  assert.deepEqual(gather(undefined), { text: '', up: result });
  assert.deepEqual(gather(props('text'), 'plain'), { text: '', up: 'plain' });
  assert.deepEqual(gather(props('text'), ['text']), { text: '', up: ['text'] });
  assert.deepEqual(gather(props('text'), { size: 1 }), { text: '', up: { size: 1 } }, 'what is declared may be absent');
  assert.deepEqual(gather({ properties: [] as never }), { text: '', up: result });
  assert.deepEqual(gatherInputs({}, props('a'), [{ id: 'up', result: { a: 1 }, schema: {} }]), { up: { a: 1 } });
  assert.deepEqual(gather({ properties: { text: undefined as never } }), { text: 'hello' });
});

test('names of properties that every object has are ordinary names', () => {
  const schema = { properties: { constructor: {} } } as never;
  const gathered = gatherInputs({}, schema, [{ id: 'up', result: JSON.parse('{"constructor":1}'), schema }]);
  assert.deepEqual(gathered, JSON.parse('{"constructor":1}'));
  assert.deepEqual(gatherInputs({}, schema, [{ id: 'toString', result: 1 }]), JSON.parse('{"toString":1}'));
});
