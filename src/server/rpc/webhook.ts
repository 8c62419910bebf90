import type { EndReport } from '../../engine/trees/end-report.ts';
import type { WebhookConfig } from '../../protocol/rpc/webhook-config.ts';

/**
 * The delivery is a task of the handler `http`: it survives what the execution survives, is retried like other tasks, and reaches only what the
 * worker that makes the request may reach.
 */
export function deliveryOf({ url, method, headers, timeout, max_retries: maxAttempts }: WebhookConfig): EndReport {
  return {
    handler: 'http',
    maxAttempts,
    input: {
      method,
      url,
      ...(headers ? { headers } : {}),
      timeout_ms: Math.round(timeout * 1000),
      body: { protocol: 'jsonrpc', type: 'final', final: true },
    },
  };
}
