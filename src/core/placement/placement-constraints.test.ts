import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../errors.ts';
import { type Candidate, eligible, normalizePlacement } from './placement.ts';
import { type PlacementConstraints, placementFromConstraints, tagsFromCapabilities } from './placement-constraints.ts';

/** A node of apflow: its executors and capabilities. */
function node(
  name: string,
  executors: readonly string[],
  capabilities: Parameters<typeof tagsFromCapabilities>[0] = {},
) {
  return {
    worker: 1,
    name,
    state: 'online',
    enabled: true,
    tags: tagsFromCapabilities(capabilities),
    handlers: executors,
    queues: undefined,
    version: undefined,
    priority: 0,
  } as const satisfies Candidate;
}

const NODES = [
  node('node-1', ['rest_executor', 'llm_executor'], { gpu: 'nvidia', memory_gb: 32, spot: false }),
  node('node-2', ['rest_executor'], { gpu: 'amd' }),
  node('node-3', ['rest_executor', 'docker_executor'], { spot: true }),
];

function names(constraints: PlacementConstraints | null | undefined): readonly string[] {
  const placement = normalizePlacement(placementFromConstraints(constraints));
  return NODES.filter((one) => eligible({ queue: 'q', handler: 'rest_executor', placement }, one)).map(
    ({ name }) => name,
  );
}

test('each apflow constraint chooses the right nodes, in both spellings', () => {
  const all = ['node-1', 'node-2', 'node-3'];
  for (const [constraints, chosen] of [
    [undefined, all],
    [null, all],
    [{}, all],
    [{ requires_executors: [], requires_capabilities: {} }, all],
    [{ requires_executors: null, allowed_nodes: null, forbidden_nodes: null, max_parallel_per_node: null }, all],
    [{ requires_executors: ['llm_executor'] }, ['node-1']],
    [{ require_executors: ['rest_executor', 'docker_executor'] }, ['node-3']],
    [{ requires_executors: ['llm_executor', 'docker_executor'] }, []],
    [{ requires_capabilities: { gpu: 'nvidia' } }, ['node-1']],
    [{ require_capabilities: { gpu: 'amd' } }, ['node-2']],
    [{ requires_capabilities: { gpu: 'intel' } }, []],
    [{ requires_capabilities: { tpu: 'v4' } }, []],
    [{ requires_capabilities: { memory_gb: 32 } }, ['node-1']],
    [{ requires_capabilities: { memory_gb: 16 } }, []],
    [{ requires_capabilities: { spot: true } }, ['node-3']],
    [{ requires_capabilities: { spot: false } }, ['node-1']],
    [{ requires_capabilities: { gpu: 'nvidia', spot: true } }, []],
    [{ allowed_nodes: ['node-1', 'node-2'] }, ['node-1', 'node-2']],
    [{ forbidden_nodes: ['node-1'] }, ['node-2', 'node-3']],
    [{ forbidden_nodes: [] }, all],
    [{ allowed_nodes: ['node-1', 'node-2'], forbidden_nodes: ['node-1'] }, ['node-2']],
    [{ allowed_nodes: ['elsewhere'] }, []],
    [{ allowed_nodes: ['host:123:run', 'node-3'] }, ['node-3']],
  ] as const) {
    assert.deepEqual(names(constraints), chosen, JSON.stringify(constraints));
  }
  assert.deepEqual(placementFromConstraints({ max_parallel_per_node: 2 }), { maxPerWorker: 2 });
});

test('unknown or meaningless constraints are refused and named', () => {
  for (const [constraints, code, says] of [
    [{ requires_executor: ['x'] }, 'UNKNOWN_OPTION', /requires_executor/],
    [{ requires_executors: ['a'], require_executors: ['a'] }, 'INVALID_INPUT', /require_executors is given too/],
    [{ requires_capabilities: {}, require_capabilities: {} }, 'INVALID_INPUT', /require_capabilities is given too/],
    [{ requires_executors: 'x' }, 'INVALID_INPUT', /handlers.*list/],
    [{ requires_executors: [''] }, 'INVALID_INPUT', /handler name/],
    [{ requires_capabilities: ['gpu'] }, 'INVALID_INPUT', /object of names and values/],
    [{ requires_capabilities: { gpu: ['nvidia'] } }, 'INVALID_INPUT', /"gpu" must be a text/],
    [{ requires_capabilities: { gpu: null } }, 'INVALID_INPUT', /"gpu" must be a text/],
    [{ requires_capabilities: { gpu: Number.NaN } }, 'INVALID_INPUT', /"gpu" must be a text/],
    [{ requires_capabilities: { gpu: '' } }, 'INVALID_INPUT', /value is empty/],
    [{ requires_capabilities: { 'a b': 'x' } }, 'INVALID_INPUT', /its name has only/],
    [{ allowed_nodes: [] }, 'INVALID_INPUT', /no node could run the task/],
    [{ allowed_nodes: ['a b'] }, 'INVALID_INPUT', /worker name/],
    [{ max_parallel_per_node: 0 }, 'INVALID_INPUT', /maxPerWorker.*whole number from 1/],
    [[], 'INVALID_INPUT', /object/],
    ['gpu', 'INVALID_INPUT', /object/],
  ] as const) {
    assert.throws(
      () => placementFromConstraints(constraints as never),
      (error) => {
        assert.ok(isEngineError(error, code), `${JSON.stringify(constraints)}: ${String(error)}`);
        assert.match(error.message, says);
        return true;
      },
    );
  }
});
