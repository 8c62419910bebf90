import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pathText } from '../machine/problems.ts';
import { readGraph } from './read-graph.ts';
import { graphOf, workflow } from './test-graphs.ts';

/** Each problem as one line: its level, its place, what is wrong. */
const problemsOf = (value: unknown, options = {}): readonly string[] =>
  readGraph(JSON.parse(JSON.stringify(value)), options).problems.map(
    ({ level, path, message }) => `${level} ${pathText(path)}: ${message}`,
  );

const only = (node: object, options = {}): readonly string[] => problemsOf(workflow({ n: node as never }, []), options);

describe('a workflow', () => {
  test('has its nodes in a list, or in a map by their ids', () => {
    const config = { agents: ['worker-1'], requiredTags: ['gpu', 'cuda'], concurrencyGroup: 'heavy-compute' };
    const fields = { data: { message: 'hi' }, agentConfig: config, required_credential: 'discord' };
    const list = graphOf({ nodes: [{ id: 'node-1', typeId: 'discord/discord_send', ...fields }], connections: [] });
    const map = graphOf({ nodes: { 'node-1': { type: 'discord/discord_send', ...fields } } });
    assert.deepEqual(map, list);
    const [node] = map.nodes;
    assert.deepEqual(node?.work.do === 'task' && node.work.request, {
      handler: 'discord/discord_send',
      timeout: 600_000,
      placement: { only: ['worker-1'], requires: ['gpu', 'cuda'], credentials: ['discord'] },
      limits: ['heavy-compute'],
    });
  });

  test('may have the rules about agents in the data of the node, on the node, or under other names', () => {
    const placementOf = (node: object): unknown => {
      const { work } = graphOf(workflow({ n: { typeId: 'mine', ...node } }, [])).nodes[0] ?? {};
      return work?.do === 'task' ? work.request.placement : undefined;
    };
    assert.deepEqual(placementOf({ data: { agentConfig: { tags: ['gpu'] } } }), { requires: ['gpu'] });
    assert.deepEqual(placementOf({ requiredTags: ['gpu'], agents: ['a'] }), { only: ['a'], requires: ['gpu'] });
    assert.deepEqual(placementOf({ data: { credentialName: 'openai' } }), { credentials: ['openai'] });
    assert.deepEqual(placementOf({ data: { agentConfig: { agents: [], concurrencyGroup: null } } }), undefined);
  });

  test('has a timeout for each type, and nodes have their own timeout, retry policy, queue and priority', () => {
    const requestOf = (node: object): unknown => {
      const { work } = graphOf(workflow({ n: node as never }, [])).nodes[0] ?? {};
      return work?.do === 'task' ? work.request : undefined;
    };
    assert.deepEqual(requestOf({ typeId: 'core/http', data: { url: 'http://x' } }), {
      handler: 'http',
      timeout: 60_000,
    });
    assert.deepEqual(requestOf({ typeId: 'run_command', data: { command: 'true', timeout: 5 } }), {
      handler: 'shell',
      timeout: 5000,
    });
    const retry = { attempts: 5, delay: 2, factor: 1.5, maxDelay: '1m' };
    assert.deepEqual(requestOf({ typeId: 'mine', timeout: '2m', retry, queue: 'big', priority: 3 }), {
      handler: 'mine',
      timeout: 120_000,
      maxAttempts: 5,
      retry: { baseMs: 2000, factor: 1.5, maxMs: '1m' },
      queue: 'big',
      priority: 3,
    });
  });

  test('says all that is wrong with it, each with its place', () => {
    const found = problemsOf({
      nodes: [
        { id: 'a', typeId: 'set', name: 'A', data: { fields: [{ value: 1 }, 7] } },
        { id: 'a', typeId: 'if', name: 'A', data: {} },
        { typeId: 'start' },
        'text',
        { id: 'h', typeId: 'hardwired', data: { json: '{}' } },
        { id: 'j', typeId: 'hardwired', data: { json: '[1' }, kind: 'each' },
        { id: 'x', typeId: 'no name', data: { a: ['{{ $.b.map(f) }}'] }, nme: 1 },
        { id: 'c', typeId: 'run_command', data: { command: 'echo {{ $.x }}', argv: [] }, timeout: 'soon' },
        { id: 'g', typeId: 'htp', agentConfig: { agents: 'w', group: 'x' }, retry: { attempts: 0, tries: 2 } },
        { id: 'p', typeId: 'mine', pinned: true, pinnedOutput: [7] },
      ],
      connections: [
        { id: 'c1', sourceNodeId: 'a', targetNodeId: 'b' },
        { id: 'c1', sourceNodeId: 'a', targetNodeId: 'a' },
        { targetNodeId: 5 },
      ],
      settings: { dataDirectory: 5 },
      extra: true,
    });
    assert.deepEqual(
      found.map((line) => line.replace(/\(line.*\)|in JSON.*|Expected.*/, '')).toSorted(),
      [
        'error connections[0].targetNodeId: there is no node "b"',
        'error connections[1].id: the id "c1" comes twice',
        'error connections[1]: it connects the node "a" to itself',
        'error connections[2].sourceNodeId: "sourceNodeId" is missing',
        'error connections[2].targetNodeId: expected a text, found a number',
        'error nodes[0].data.fields[0].name: "name" is missing',
        'error nodes[0].data.fields[1]: expected a field with "name" and "value", found a number',
        'error nodes[1].data.condition: a node of type if needs "condition"',
        'error nodes[1].id: the id "a" comes twice',
        'error nodes[2].id: "id" is missing',
        'error nodes[3]: expected a map, found a text',
        'error nodes[4].data.json: expected the JSON of a list, found a map',
        'error nodes[5].data.json: this is not JSON: ',
        'error nodes[5].kind: expected "map" or "array"',
        'error nodes[6].data.a[0]: column 6: there is no method "map"; there are endsWith, includes, indexOf, join, replace, replaceAll, slice, split, startsWith, toFixed, toLowerCase, toString, toUpperCase, trim',
        'error nodes[6].typeId: "no name" is not 1 to 63 of A-Z, a-z, 0-9, ".", "_", ":", "@", "/" and "-", beginning with a letter or a digit',
        'error nodes[7].data.command: a command is either "command", a line for a shell, or "argv", a program and its arguments',
        'error nodes[7].timeout: "soon" is not a duration, which is written like 250ms, 30s, 5m, 1h30m, 2d or 1w',
        'error nodes[8].agentConfig.agents: expected a list of texts',
        'error nodes[8].agentConfig.group: there is no field "group"',
        'error nodes[8].retry.attempts: expected a whole number from 1 to 1000',
        'error nodes[8].retry.tries: there is no field "tries"',
        'error nodes[9].pinnedOutput: what is pinned is a list of items, each a map',
        'error settings.dataDirectory: expected a text, found a number',
        'warning extra: there is no field "extra"',
        'warning nodes[1].name: the name "A" comes twice: the later one hides the other in items',
        'warning nodes[6].nme: there is no field "nme": did you mean "name"?',
        'warning nodes[7].data.command: what an item says becomes part of a line for a shell: pass it in "argv" or "env"',
        'warning nodes[8].typeId: "htp" is taken for the name of a handler: did you mean "http"?',
      ].toSorted(),
    );
  });

  test('is a map with nodes', () => {
    assert.deepEqual(problemsOf([]), ['error : a workflow is a map, not a list']);
    assert.deepEqual(problemsOf({}), ['error nodes: "nodes" is missing']);
    assert.deepEqual(problemsOf({ nodes: [], connections: [] }), ['error nodes: there is no node']);
    assert.deepEqual(problemsOf({ nodes: { a: { type: 'start' }, b: { type: 'set', data: { fields: [] } } } }), [
      'error connections: "connections" is missing',
    ]);
  });

  test('goes in no circle, which is said with the way round', () => {
    const nodes = {
      start: { typeId: 'start' },
      a: { typeId: 'x' },
      b: { typeId: 'x' },
      c: { typeId: 'x' },
      d: { typeId: 'x' },
    };
    assert.deepEqual(problemsOf(workflow(nodes, ['start>a', 'a>b', 'b>c', 'c>a', 'c>d'])), [
      'error connections: these go in a circle: b -> c -> a -> b',
    ]);
  });

  test('takes a group only if there is a limit of that name, where that is known', () => {
    const node = { typeId: 'mine', concurrencyGroup: 'claud' };
    assert.deepEqual(only(node), []);
    assert.deepEqual(only(node, { groups: new Set(['claude']) }), [
      'error nodes[0].concurrencyGroup: there is no limit "claud": did you mean "claude"?',
    ]);
  });

  test('of ten thousand nodes at most, and says so without a problem for each connection', () => {
    const nodes = Array.from({ length: 10_001 }, (_, i) => ({ id: `n${i}`, typeId: 'mine' }));
    assert.deepEqual(problemsOf({ nodes, connections: [{ sourceNodeId: 'n1', targetNodeId: 'n2' }] }), [
      'error nodes: there are 10001, and at most 10000 can be',
      'error nodes: there is no node',
    ]);
  });
});
