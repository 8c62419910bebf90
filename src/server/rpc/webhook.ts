import { createHash } from 'node:crypto';
import type { Engine } from '../../engine/engine.ts';
import { queueOf } from '../../engine/trees/document-body.ts';
import type { Document, Execution } from '../../engine/trees/documents.ts';
import { ENDED, type EndReport } from '../../engine/trees/end-report.ts';
import type { WebhookConfig } from '../../protocol/rpc/webhook-config.ts';
import { type FollowOptions, followExecution } from './stream.ts';

/** Executions that one node tells of as they go. Their ends are told of any number. */
const MOST_TOLD = 200;
const GOING: ReadonlySet<string> = new Set(['task_start', 'progress']);

/** What is pushed with an execution, and tells of ends. */
export interface Deliveries {
  readonly report?: EndReport;
  readonly each?: EndReport;
}

/**
 * A delivery is a task of the handler `http`: it survives what the execution survives, is retried like other tasks, and reaches only what the
 * worker that makes the request may reach. Ends are pushed with the execution itself.
 */
export function deliveriesOf(config: WebhookConfig): Deliveries {
  const { events } = config;
  const each = events.includes('task_completed') || events.includes('task_failed');
  return {
    ...(events.includes('final') ? { report: deliveryOf(config, { type: 'final', final: true }) } : {}),
    ...(each ? { each: deliveryOf(config, { type: ENDED }) } : {}),
  };
}

function deliveryOf(config: WebhookConfig, body: object): EndReport {
  const { url, method, headers, timeout, max_retries: maxAttempts, secret_env: sign } = config;
  return {
    handler: 'http',
    maxAttempts,
    input: {
      method,
      url,
      ...(headers ? { headers } : {}),
      ...(sign ? { sign_env: sign } : {}),
      timeout_ms: Math.round(timeout * 1000),
      body: { protocol: 'jsonrpc', ...body },
    },
  };
}

/**
 * Tells of starts and progress as this node hears of them. What happens after the node has gone is not told, because nothing of the execution waits for it; the
 * ends are.
 */
export class GoingWebhooks {
  readonly #engine: Engine;
  #told = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** False: too many are told of already. */
  begin(config: WebhookConfig, root: Document, options: FollowOptions): boolean {
    if (!config.events.some((event) => GOING.has(event))) return true;
    if (this.#told >= MOST_TOLD) return false;
    this.#told++;
    // A store that is away or a full queue must not end the node: what is lost here is a word on the way.
    this.#tell(config, root, options)
      .catch(() => {})
      .finally(() => this.#told--);
    return true;
  }

  async #tell(config: WebhookConfig, root: Document, options: FollowOptions): Promise<void> {
    const wanted = new Set<string>(config.events);
    let n = 0;
    for await (const { data } of followExecution(options, new AbortController().signal)) {
      const { type } = data as { readonly type: string };
      if (!GOING.has(type) || !wanted.has(type)) continue;
      const about = { root_task_id: root.root, task_id: options.id, execution: executionOf(options.execution, root) };
      const { input, ...delivery } = deliveryOf(config, { ...about, ...(data as object) });
      const op = createHash('sha256').update(`${options.execution[0]?.pushed.id}/${n++}`).digest('hex');
      await this.#engine.push({ ...delivery, queue: queueOf(root.body), input, op: `webhook:${op}` });
    }
  }
}

function executionOf(execution: Execution, { id, run }: Document): number {
  return execution.some(({ document }) => document.id === id) ? run + 1 : run;
}
