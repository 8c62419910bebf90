import { fault, isEngineError } from '../../core/errors.ts';
import type { Log } from '../../engine/log.ts';
import type { Action } from '../../operate/audit/actions.ts';
import { MAX_BATCH, type RpcId, type RpcRequest, readRequest } from '../../protocol/rpc/envelope.ts';
import { METHODS, type MethodName, mayCallMethod, methodNamed } from '../../protocol/rpc/methods.ts';
import { callerOf, type Principal } from '../auth/access.ts';
import type { Auditor } from '../auth/audit.ts';
import type { PushGuard } from '../auth/push-guard.ts';
import { EventStream, JsonText, NO_CONTENT } from '../http/answers.ts';
import { checked } from '../http/caller.ts';
import { stackOf } from '../http/refusals.ts';
import { type Allowance, CallBudget } from './budget.ts';
import { cloneMethods } from './clone.ts';
import type { RpcCall, RpcHandler, RpcHandlers, RpcServices } from './context.ts';
import { executeMethods } from './execute.ts';
import { leaseMethods } from './leases.ts';
import { nodeMethods } from './nodes.ts';
import { isDefect, problemOf, type RpcAnswer, type RpcError, RpcProblem, refusal } from './problems.ts';
import { readMethods } from './read.ts';
import { runningMethods } from './running.ts';
import { scheduledMethods } from './schedules/scheduled.ts';
import { systemMethods } from './system.ts';
import { MAX_ANSWER } from './view.ts';
import { writeMethods } from './write.ts';

export interface RpcOptions extends RpcServices {
  readonly log: Log;
  readonly allowance?: Allowance | undefined;
  /** Called before a push; undefined: no bound. */
  readonly guard?: PushGuard | undefined;
  /** Whether this node is an observer, and refuses all methods but those that read. */
  readonly observes?: (() => boolean) | undefined;
}

/** The caller and its request. */
interface Caller {
  readonly principal: Principal;
  readonly request: string;
  readonly audited: Auditor;
}

/** Methods that change what others have made: these are audited. */
const AUDITED: Partial<Record<MethodName, Action>> = {
  'tasks.update': 'editTask',
  'tasks.delete': 'deleteTask',
  'tasks.cancel': 'cancelTask',
  'tasks.running.cancel': 'cancelTask',
};

const HANDLERS: RpcHandlers<MethodName> = {
  ...nodeMethods,
  ...leaseMethods,
  ...readMethods,
  ...writeMethods,
  ...cloneMethods,
  ...executeMethods,
  ...runningMethods,
  ...scheduledMethods,
  ...systemMethods,
};

/** These have a status of their own over HTTP. */
const REFUSED: ReadonlySet<unknown> = new Set(['FORBIDDEN', 'READ_ONLY']);

/** Calls of a batch that have not begun after this time are refused. */
const BATCH_MS = 30_000;

/** Answers calls of JSON-RPC 2.0, one after the other, so that a batch cannot take more at once than a single call. */
export class RpcService {
  readonly #options: RpcOptions;
  readonly #budget: CallBudget;

  constructor(options: RpcOptions) {
    this.#options = options;
    this.#budget = new CallBudget(options.engine.world.clock, options.allowance);
  }

  async answer(body: unknown, caller: Caller): Promise<JsonText | EventStream | typeof NO_CONTENT> {
    if (!Array.isArray(body)) return this.#alone(body, caller);
    if (body.length === 0 || body.length > MAX_BATCH) {
      const problem = `a batch has between 1 and ${MAX_BATCH} calls`;
      return new JsonText(textOf({ jsonrpc: '2.0', id: null, error: refusal('request', problem) }));
    }
    return this.#batch(body, caller);
  }

  async #alone(body: unknown, caller: Caller): Promise<JsonText | EventStream | typeof NO_CONTENT> {
    const request = readRequest(body);
    if ('problem' in request) return new JsonText(textOf(malformed(request)));
    const outcome = await this.#call(request, caller, request.id !== undefined);
    if (outcome instanceof EventStream) return outcome;
    if (request.id === undefined) return NO_CONTENT;
    const forbidden = 'error' in outcome && REFUSED.has(outcome.error.data['code']);
    return new JsonText(bounded({ jsonrpc: '2.0', id: request.id, ...outcome }, MAX_ANSWER), forbidden ? 403 : 200);
  }

  async #batch(calls: readonly unknown[], caller: Caller): Promise<JsonText | typeof NO_CONTENT> {
    const { clock } = this.#options.engine.world;
    const until = clock.monotonic() + BATCH_MS;
    const answers: string[] = [];
    let room = MAX_ANSWER;
    for (const call of calls) {
      const request = readRequest(call);
      if ('problem' in request) answers.push(textOf(malformed(request)));
      else {
        const late = clock.monotonic() >= until;
        const outcome = late ? { error: problemOf(fault('TIMEOUT')) } : await this.#call(request, caller, false);
        if (request.id === undefined) continue;
        answers.push(bounded({ jsonrpc: '2.0', id: request.id, ...(outcome as Outcome) }, room));
      }
      room -= answers.at(-1)?.length ?? 0;
    }
    return answers.length === 0 ? NO_CONTENT : new JsonText(`[${answers.join(',')}]`);
  }

  async #call(
    { method, params }: RpcRequest,
    { principal, request, audited }: Caller,
    alone: boolean,
  ): Promise<Outcome | EventStream> {
    try {
      const caller = `${principal.token ?? 'admin'}`;
      this.#budget.spend(caller, 1);
      const name = methodNamed(method);
      if (name === undefined) return { error: refusal('method', `there is no method ${JSON.stringify(method)}`) };
      if (!mayCallMethod(principal.role, METHODS[name])) {
        throw fault('FORBIDDEN', {
          problem: `this needs the role ${METHODS[name].access}, and the token has the role ${principal.role}`,
        });
      }
      if (METHODS[name].access !== 'read' && this.#options.observes?.()) throw fault('READ_ONLY');
      const call: RpcCall = {
        ...this.#options,
        params: paramsOf(name, params),
        principal,
        alone,
        admit: async (tasks) => {
          this.#budget.spend(
            caller,
            [...tasks.values()].reduce((sum, n) => sum + n, 0),
          );
          await this.#options.guard?.admit(callerOf(principal), tasks);
        },
      };
      const work = (): Promise<unknown> => (HANDLERS[name] as RpcHandler<MethodName>)(call);
      const action = AUDITED[name];
      const result = await (action === undefined ? work() : audited(action, targetOf(call.params), work));
      return result instanceof EventStream ? result : { result };
    } catch (error) {
      if (isDefect(error)) this.#options.log.error('a call failed', { request, method, error: stackOf(error) });
      return { error: problemOf(error) };
    }
  }
}

/** The tasks that a call names, for the audit log. */
function targetOf(params: object): string {
  const { task_id, id, task_ids } = params as Readonly<Record<string, unknown>>;
  return [task_id ?? id ?? task_ids]
    .flat()
    .filter((one) => typeof one === 'string')
    .join(' ');
}

type Outcome = { readonly result: unknown } | { readonly error: RpcError };

/** Problems name their place beginning with `params`, as callers know it. */
function paramsOf(name: MethodName, given: unknown): RpcCall['params'] {
  try {
    return checked('body', METHODS[name].params, given ?? {}) as RpcCall['params'];
  } catch (error) {
    if (!isEngineError(error)) throw error;
    const { field = 'body', problem } = (error.details ?? {}) as { readonly field?: string; readonly problem?: string };
    throw new RpcProblem('params', `${field.replace(/^body/, 'params')}: ${problem}`, { code: error.code });
  }
}

function malformed({ problem, id }: { readonly problem: string; readonly id: RpcId }): RpcAnswer {
  return { jsonrpc: '2.0', id, error: refusal('request', problem) };
}

/** An answer that is too long becomes an error. */
function bounded(answer: RpcAnswer, room: number): string {
  const text = textOf(answer);
  if (text.length <= Math.max(room, 0) || answer.error !== undefined) return text;
  const error = problemOf(fault('TOO_LARGE', { field: 'answer', maxBytes: MAX_ANSWER }));
  return textOf({ jsonrpc: '2.0', id: answer.id, error });
}

function textOf(answer: RpcAnswer): string {
  return JSON.stringify('result' in answer && answer.result === undefined ? { ...answer, result: null } : answer);
}
