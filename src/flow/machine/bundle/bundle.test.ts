import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUNDLE_ROOT, bundleAlone, readBundle } from './bundle.ts';
import { channelsOf } from './channels.ts';
import { filesOf, machineAt } from './peers.ts';

const machine = (data: object): object => ({ spec: 'flatmachine', spec_version: '2.0.0', data });
const final = { end: { type: 'final' } };
const waiting = (channel: string): object => ({ a: { wait_for: channel, transitions: [{ to: 'end' }] }, ...final });

test('a text is a bundle only if all its parts are there', () => {
  const text = JSON.stringify(bundleAlone(machine({ states: final })));
  assert.deepEqual(readBundle(text), JSON.parse(text));
  for (const other of ['', 'x', '[]', 'null', '{}', '{"machine":{},"files":{},"registered":{}}']) {
    assert.equal(readBundle(other), undefined, other);
  }
  const { machine: own } = bundleAlone(1);
  assert.equal(readBundle(JSON.stringify({ machine: own, files: {}, registered: {} })), undefined);
});

test('channels are permitted by what they begin with, wherever in a bundle a machine waits', () => {
  const inline = machine({ states: waiting('inner/{{ context.id }}/x') });
  const bundle = {
    ...bundleAlone(machine({ machines: { inline }, states: waiting('word') })),
    files: { '/a.yml': machine({ states: waiting('file:{% if x %}') }) },
    registered: { peer: { value: machine({ states: waiting('inner/one') }), folder: '/', name: 'peer' } },
  };
  assert.deepEqual(channelsOf(bundle), ['file:*', 'inner/*', 'word']);
  assert.deepEqual(channelsOf(bundleAlone(machine({ states: waiting('{{ input.any }}') }))), ['*']);
  assert.deepEqual(channelsOf(bundleAlone(machine({ states: waiting('a*b') }))), ['a*']);
  assert.deepEqual(channelsOf(bundleAlone(machine({ states: final }))), []);
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`s${i}`, { wait_for: `channel ${i}` }]));
  assert.deepEqual(channelsOf(bundleAlone(machine({ states: many }))), ['*']);
});

test('a machine of a bundle is found by the names that lead to it', () => {
  const child = machine({ name: 'child', states: final });
  const bundle = {
    machine: {
      value: machine({
        name: 'top',
        machines: { inline: child, below: { path: '../lib/below.yml' }, gone: './gone.yml', stood: './gone.yml' },
        states: final,
      }),
      folder: `${BUNDLE_ROOT}/machine`,
      name: 'the machine',
    },
    files: {
      [`${BUNDLE_ROOT}/lib/below.yml`]: machine({ name: 'below', machines: { next: './next.yml' }, states: final }),
      [`${BUNDLE_ROOT}/lib/next.yml`]: machine({ name: 'next', states: final }),
    },
    registered: {
      known: { value: child, folder: '/', name: 'known' },
      stood: { value: machine({ name: 'stand-in', states: final }), folder: '/', name: 'stood' },
    },
  };
  const nameOf = (...peers: readonly string[]): string | undefined => machineAt(bundle, peers)?.machine.name;
  assert.deepEqual(
    [nameOf(), nameOf('inline'), nameOf('below', 'next'), nameOf('known'), nameOf('gone'), nameOf('toString')],
    ['top', 'child', 'next', 'child', undefined, undefined],
  );
  assert.equal(nameOf('stood'), 'stand-in', 'its file is not part of the bundle');
  assert.deepEqual(filesOf(machineAt(bundle, [])?.machine as never), ['../lib/below.yml', './gone.yml', './gone.yml']);
});
