import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isEngineError } from '../../core/errors.ts';
import { type Candidate, eligible, normalizePlacement } from '../../core/placement/placement.ts';
import { open } from '../../index.ts';
import { refusal } from '../../store/conformance/kit/scene.ts';
import { type AgentRules, limitsFromGroups, rulesFromAgentConfig, tagsFromAgent } from '../index.ts';

/** The agents of dazflow's document, and some more. */
const AGENTS = {
  'built-in': { enabled: true, status: 'online', tags: [], credentials: [] },
  'gpu-worker': { enabled: true, status: 'online', tags: ['gpu', 'cuda'], credentials: ['discord'] },
  'worker-1': { enabled: true, status: 'online', tags: ['gpu', 'linux'], credentials: ['openai'] },
  'worker-2': { enabled: true, status: 'offline', tags: ['gpu', 'cuda'], credentials: ['discord'] },
  'worker-3': { enabled: false, status: 'online', tags: ['gpu', 'cuda'], credentials: ['discord'] },
} as const;

const CANDIDATES = Object.entries(AGENTS).map(
  ([name, agent], i): Candidate => ({
    worker: i + 1,
    name,
    state: agent.status,
    enabled: agent.enabled,
    tags: tagsFromAgent(agent),
    handlers: undefined,
    queues: undefined,
    version: undefined,
    priority: 0,
  }),
);

function names(rules: AgentRules): readonly string[] {
  const placement = normalizePlacement(rulesFromAgentConfig(rules).placement);
  return CANDIDATES.filter((one) => eligible({ queue: 'q', handler: 'h', placement }, one)).map(({ name }) => name);
}

test('the matching of dazflow: enabled and online, one of the agents, all of the tags, the credential', () => {
  const online = ['built-in', 'gpu-worker', 'worker-1'];
  for (const [rules, chosen] of [
    [{}, online],
    [{ agentConfig: null, required_credential: null }, online],
    [{ agentConfig: { agents: [], requiredTags: [], concurrencyGroup: null } }, online],
    [
      { agentConfig: { agents: [], requiredTags: ['gpu'], concurrencyGroup: 'heavy-compute' } },
      ['gpu-worker', 'worker-1'],
    ],
    [{ agentConfig: { requiredTags: ['gpu', 'cuda'] } }, ['gpu-worker']],
    [{ agentConfig: { agents: ['worker-1', 'worker-2'] } }, ['worker-1']],
    [{ agentConfig: { agents: ['worker-1', 'built-in'], requiredTags: ['gpu'] } }, ['worker-1']],
    [{ agentConfig: { agents: ['worker-3'] } }, []],
    [{ agent_config: { agents: [], requiredTags: ['gpu'] }, required_credential: 'discord' }, ['gpu-worker']],
    [{ requiredCredential: 'openai' }, ['worker-1']],
    [{ required_credential: 'github' }, []],
    [{ agentConfig: { requiredTags: ['docker'] } }, []],
  ] as const) {
    assert.deepEqual(names(rules), chosen, JSON.stringify(rules));
  }
  assert.deepEqual(rulesFromAgentConfig({ agentConfig: { concurrencyGroup: 'claude' } }), {
    placement: {},
    limits: [{ name: 'claude' }],
  });
});

test('what dazflow does not know is refused and named', () => {
  for (const [rules, code, says] of [
    [{ agentconfig: {} }, 'UNKNOWN_OPTION', /agentconfig/],
    [{ agentConfig: { requiredTag: ['gpu'] } }, 'UNKNOWN_OPTION', /requiredTag/],
    [{ agentConfig: {}, agent_config: {} }, 'INVALID_INPUT', /agent_config is given too/],
    [{ agentConfig: { agents: 'worker-1' } }, 'INVALID_INPUT', /agents is not valid: it must be a list of texts/],
    [{ agentConfig: { agents: ['a b'] } }, 'INVALID_INPUT', /worker name/],
    [{ agentConfig: { requiredTags: ['memory>=16'] } }, 'INVALID_INPUT', /belong in placement\.requires/],
    [{ agentConfig: { requiredTags: [''] } }, 'INVALID_INPUT', /requiredTags/],
    [{ agentConfig: { concurrencyGroup: 'Heavy Compute' } }, 'INVALID_INPUT', /limit name/],
    [{ agentConfig: { concurrencyGroup: 3 } }, 'INVALID_INPUT', /limit name/],
    [{ agentConfig: 'any' }, 'INVALID_INPUT', /object/],
    [{ required_credential: 'a=b' }, 'INVALID_INPUT', /credentials/],
    [undefined, 'INVALID_INPUT', /object/],
  ] as const) {
    assert.throws(
      () => rulesFromAgentConfig(rules as never),
      (error) => {
        assert.ok(isEngineError(error, code), `${JSON.stringify(rules)}: ${String(error)}`);
        assert.match(error.message, says);
        return true;
      },
    );
  }
  for (const groups of [null, [], { claude: 3 }, { claude: {} }, { claude: { limit: -1 } }, { 'A B': { limit: 1 } }]) {
    assert.throws(() => limitsFromGroups(groups as never), /is not valid|not know/, JSON.stringify(groups));
  }
  assert.throws(() => limitsFromGroups({ claude: { limit: 3, rate: 1 } as never }), /rate/);
});

test('the groups of dazflow are limits: their tasks wait for each other, and one that nobody made is refused', async () => {
  const app = await open('memory:', { duties: false, housekeeping: false });
  const groups = limitsFromGroups({ claude: { limit: 3 }, '3d-printer': { limit: 1 }, 'heavy-compute': { limit: 2 } });
  for (const [name, limit] of Object.entries(groups)) await app.setLimit(name, limit);
  const { engine } = app;
  const worker = await engine.workers.register({
    name: 'gpu-worker',
    incarnation: 'i',
    slots: 9,
    tags: tagsFromAgent(AGENTS['gpu-worker']),
  });
  const rules = rulesFromAgentConfig({
    agent_config: { agents: [], requiredTags: ['gpu'], concurrencyGroup: 'heavy-compute' },
    required_credential: 'discord',
  });
  for (let n = 0; n < 3; n++) await engine.push({ queue: 'q', handler: 'h', ...rules });
  const grants = await engine.claim({ worker, max: 9 });
  assert.equal(grants.length, 2);
  assert.deepEqual(await engine.claim({ worker, max: 9 }), []);
  for (const grant of grants.slice(0, 1)) await engine.complete(grant);
  assert.equal((await engine.claim({ worker, max: 9 })).length, 1);
  const typo = rulesFromAgentConfig({ agentConfig: { concurrencyGroup: 'heavy-computing' } });
  assert.equal(await refusal(engine.push({ queue: 'q', handler: 'h', ...typo })), 'NOT_FOUND');
  await app.close();
});
