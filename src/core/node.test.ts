import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DEFAULT_SILENCE,
  givesWay,
  holderName,
  mayLead,
  NODE_ROLES,
  type NodeEvent,
  type NodeRole,
  type NodeStatus,
  nextStatus,
  nodeHealth,
  type OtherNode,
} from './node.ts';

const STANDS: readonly NodeStatus[] = ['boot', 'electing', 'leader', 'worker', 'observer'];
const EVENTS: readonly NodeEvent[] = ['asked', 'won', 'refused', 'lost', 'retry'];

/** The changes of apflow's design "Distributed Core", section 11. Any other event leaves the status of a node as it is. */
const CHANGES: Readonly<Record<string, NodeStatus>> = {
  // The same for `auto` and `leader`.
  'boot asked lead': 'electing',
  'electing asked lead': 'electing',
  'worker asked lead': 'electing',
  'observer asked lead': 'electing',
  'electing won lead': 'leader',
  'electing refused lead': 'worker',
  'leader lost lead': 'worker',
  'worker retry lead': 'electing',
  // The election was under way when it was asked for something else.
  'electing won worker': 'leader',
  'electing refused worker': 'worker',
  'leader lost worker': 'worker',
  'electing won observer': 'leader',
  'electing refused observer': 'worker',
  'leader lost observer': 'worker',
};

test('the status of a node changes as the table says, and by nothing else', () => {
  let seen = 0;
  for (const status of STANDS) {
    for (const event of EVENTS) {
      for (const role of NODE_ROLES) {
        const wish = mayLead(role) ? 'lead' : role;
        const told = event === 'asked' && !mayLead(role) ? role : CHANGES[`${status} ${event} ${wish}`];
        assert.equal(nextStatus(status, event, role), told ?? status, `${status}, ${event}, ${role}`);
        seen++;
      }
    }
  }
  assert.equal(seen, STANDS.length * EVENTS.length * NODE_ROLES.length);
});

test('a node that is asked to be an observer or a worker is one, whatever it was', () => {
  for (const status of STANDS) {
    for (const role of ['observer', 'worker'] as const) assert.equal(nextStatus(status, 'asked', role), role);
  }
});

test('an election never begins for a node that may not lead', () => {
  for (const role of ['worker', 'observer'] satisfies NodeRole[]) {
    for (const status of STANDS.filter((one) => one !== 'electing')) {
      for (const event of EVENTS) assert.notEqual(nextStatus(status, event, role), 'electing');
    }
  }
});

test('a node is stale after 30 s without a beat and dead after 120 s, and not a moment before', () => {
  const told = [0, 30_000, 30_001, 120_000, 120_001].map((ms) => nodeHealth(ms, DEFAULT_SILENCE));
  assert.deepEqual(told, ['healthy', 'healthy', 'stale', 'stale', 'dead']);
});

test('a holder is shown without its incarnation', () => {
  assert.equal(holderName('node-1/3f0c'), 'node-1');
  assert.equal(holderName('host/123/3f0c'), 'host/123');
  assert.equal(holderName('somebody'), 'somebody');
});

test('a node gives way to another one that was asked to lead, unless that one is silent or gone', () => {
  const other = { id: 'b', override: 'leader', left: false, silentMs: 0 } as const;
  const gives = (node: Partial<OtherNode>, id = 'a'): boolean =>
    givesWay(id, [{ ...other, ...node }], { staleMs: 100 });
  assert.equal(gives({}), true);
  assert.equal(gives({ silentMs: 100 }), true);
  assert.equal(gives({ silentMs: 101 }), false);
  assert.equal(gives({ left: true }), false);
  assert.equal(gives({ override: 'auto' }), false);
  assert.equal(gives({}, 'b'), false, 'not to itself');
  const both = [other, { ...other, id: 'a' }];
  assert.deepEqual([givesWay('a', both, { staleMs: 1 }), givesWay('b', both, { staleMs: 1 })], [false, true]);
});
