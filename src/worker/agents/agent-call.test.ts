import assert from 'node:assert/strict';
import { test } from 'node:test';
import { machineOf } from '../../flow/machine/test-driver.ts';
import { HookChain } from '../machine/hook-chain.ts';
import { RunScope } from '../machine/run-scope.ts';
import { agentCall } from './agent-call.ts';
import type { AgentExecutor } from './executor.ts';
import { MemoryLedger } from './ledger.ts';
import { virtualWorld } from './test-world.ts';

test('hooks hear every event in order, and none after the answer is no longer wanted', async () => {
  const { world } = virtualWorld();
  const machine = machineOf({ agents: { it: {} }, states: { start: { agent: 'it', type: 'final' } } });
  const told = async (stopAt: number): Promise<readonly unknown[]> => {
    const heard: unknown[] = [];
    const stopping = new AbortController();
    const hooks = new HookChain(
      [
        {
          onAgentStreamEvent: (_state, event) => {
            heard.push(event);
            if (heard.length === stopAt) stopping.abort(new Error('enough'));
          },
        },
      ],
      machine.specVersion,
    );
    const executor: AgentExecutor = {
      metadata: {},
      tools: [],
      execute: (_input, { onEvent }) => {
        for (let n = 1; n <= 5; n++) onEvent?.({ n });
        return Promise.resolve({ content: 'done' });
      },
    };
    const call = agentCall(executor, { world, tools: new Map() });
    const command = {
      do: 'agent',
      agent: 'it',
      state: 'start',
      key: 'run/s:000001',
      context: {},
      session: undefined,
      sessionId: undefined,
      input: {},
      execution: undefined,
      toolLoop: null,
      timeoutMs: undefined,
    } as const;
    const around = { machine, hooks, ledger: new MemoryLedger(), transition: () => undefined, scope: new RunScope() };
    await call(command, stopping.signal, around).catch(() => {});
    return heard;
  };
  assert.deepEqual(await told(9), [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }, { n: 5 }]);
  assert.deepEqual(await told(2), [{ n: 1 }, { n: 2 }]);
});
