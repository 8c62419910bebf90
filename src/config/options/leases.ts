import { DEFAULT_HEARTBEAT_MS, DEFAULT_STALE_MS, MIN_HEARTBEAT_MS } from '../../core/placement/worker.ts';
import { atLeast, commaList, duration, oneOf, renamed, secondsAtLeast } from '../parse.ts';
import { MIN_LEASE_MS, MIN_STALE_MS } from './bounds.ts';
import type { OptionTable } from './option.ts';

/** How long leases, silences and finished tasks last. */
export const LEASE_OPTIONS = {
  leaseDuration: {
    doc: 'How long a claim holds without being renewed',
    value: 'TIME',
    parse: atLeast(MIN_LEASE_MS),
    env: ['LEASEHOLD_LEASE_DURATION_SECONDS', 'APFLOW_LEASE_DURATION_SECONDS', 'APFLOW_LEASE_DURATION'],
    parseEnv: secondsAtLeast(MIN_LEASE_MS),
    fallback: () => 30_000,
    fallbackDoc: '30s',
  },
  heartbeatInterval: {
    doc: 'How often workers send a heartbeat; at most a third of a lease',
    value: 'TIME',
    parse: atLeast(MIN_HEARTBEAT_MS),
    env: ['LEASEHOLD_HEARTBEAT_INTERVAL_SECONDS', 'APFLOW_HEARTBEAT_INTERVAL_SECONDS', 'APFLOW_HEARTBEAT_INTERVAL'],
    parseEnv: secondsAtLeast(MIN_HEARTBEAT_MS),
    fallback: () => DEFAULT_HEARTBEAT_MS,
    fallbackDoc: '10s',
  },
  staleThreshold: {
    doc: 'A worker that is silent for this long is lost, and a node is stale',
    value: 'TIME',
    parse: atLeast(MIN_STALE_MS),
    env: [
      'LEASEHOLD_NODE_STALE_THRESHOLD_SECONDS',
      'APFLOW_NODE_STALE_THRESHOLD_SECONDS',
      'APFLOW_NODE_STALE_THRESHOLD',
    ],
    parseEnv: secondsAtLeast(MIN_STALE_MS),
    fallback: () => DEFAULT_STALE_MS,
    fallbackDoc: '30s',
  },
  offlineAfter: {
    doc: 'A dazflow agent that is silent for this long is offline and cut off',
    value: 'TIME',
    parse: atLeast(MIN_STALE_MS),
    env: ['LEASEHOLD_OFFLINE_AFTER'],
    fallback: () => 60_000,
    fallbackDoc: '60s',
  },
  taskTimeout: {
    doc: 'How long a task may run when neither it nor its handler sets a timeout',
    value: 'TIME',
    parse: atLeast(1),
    env: ['LEASEHOLD_TASK_TIMEOUT'],
    fallback: () => undefined,
    fallbackDoc: 'no bound',
  },
  compat: {
    doc: 'Let dazflow agents also come by /ws/agent/NAME/SECRET, an address that others on the way may log',
    value: 'dazflow',
    many: true,
    // `004` is the old word for it, and still works.
    parse: commaList(renamed({ '004': 'dazflow' }, oneOf('dazflow'))),
    env: ['LEASEHOLD_COMPAT'],
    fallback: (): readonly 'dazflow'[] => [],
    fallbackDoc: 'none',
  },
  retention: {
    doc: 'How long finished tasks, their events and keys, and signals that nobody took are kept',
    value: 'TIME',
    parse: duration,
    env: ['LEASEHOLD_RETENTION'],
    fallback: () => 7 * 24 * 3_600_000,
    fallbackDoc: '7d',
  },
  auditRetention: {
    doc: 'How long it is kept who did what',
    value: 'TIME',
    parse: duration,
    env: ['LEASEHOLD_AUDIT_RETENTION'],
    fallback: () => 400 * 24 * 3_600_000,
    fallbackDoc: '400d',
  },
} satisfies OptionTable;
