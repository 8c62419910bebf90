import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { z } from 'zod';
import type { Value } from '../../expression/values.ts';
import { readGraph } from '../read-graph.ts';
import { workflow } from '../test-graphs.ts';
import { graphSchema } from './graph-schema.ts';

const schema = z.fromJSONSchema(graphSchema as Parameters<typeof z.fromJSONSchema>[0]);
const takes = (value: unknown): boolean => schema.safeParse(value).success;
const examples = new URL('../../../../examples/graphs/', import.meta.url);

test('the schema takes the examples, and both shapes of the format', () => {
  for (const file of readdirSync(examples).filter((name) => name.endsWith('.json')))
    assert.ok(takes(JSON.parse(readFileSync(new URL(file, examples), 'utf8'))), file);
  assert.ok(takes({ nodes: { a: { type: 'start' } }, connections: {} }));
  const agentConfig = { agents: ['w'], requiredTags: ['gpu'], concurrencyGroup: 'heavy' };
  const node = { typeId: 'discord/discord_send', agentConfig, required_credential: 'discord', retry: { attempts: 3 } };
  assert.ok(takes(workflow({ a: node, b: { typeId: 'set', data: { pinned: true, pinnedOutput: [{}] } } }, ['a>b'])));
});

test('what the schema refuses the reader refuses too', () => {
  const start = { id: 'a', typeId: 'start' };
  const wrong: readonly object[] = [
    {},
    { nodes: 'a' },
    { nodes: [{ ...start, id: '' }] },
    { nodes: [{ ...start, name: 7 }] },
    { nodes: [{ ...start, kind: 'each' }] },
    { nodes: [{ ...start, data: [] }] },
    { nodes: [start], connections: [{ sourceNodeId: 'a' }] },
    { nodes: [start], settings: { dataDirectory: 7 } },
  ];
  for (const value of wrong) {
    const said = JSON.stringify(value);
    assert.equal(takes(value), false, `the schema takes ${said}`);
    assert.equal(readGraph(value as Value).graph, undefined, `the reader takes ${said}`);
  }
});
