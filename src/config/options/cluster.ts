import { NODE_ROLES } from '../../core/node.ts';
import { atLeast, oneOf, onOrOff, secondsAtLeast } from '../parse.ts';
import { MIN_INTERVAL_MS, MIN_LEASE_MS } from './bounds.ts';
import type { OptionTable } from './option.ts';

/** The role of a node in its cluster, and its intervals. */
export const CLUSTER_OPTIONS = {
  role: {
    doc: 'What this node is in its cluster: auto leads if nobody does, leader leads or does not start, worker never leads, observer only answers questions',
    value: NODE_ROLES.join('|'),
    parse: oneOf(...NODE_ROLES),
    env: ['LEASEHOLD_NODE_ROLE', 'APFLOW_NODE_ROLE'],
    fallback: () => 'auto' as const,
  },
  cluster: {
    doc: 'Whether this node belongs to a cluster; off: it is in no list and no election, and does housekeeping only while nobody leads',
    value: 'on|off',
    parse: onOrOff,
    env: ['LEASEHOLD_CLUSTER_ENABLED', 'APFLOW_CLUSTER_ENABLED'],
    fallback: () => true,
    fallbackDoc: 'on',
  },
  leaderLease: {
    doc: 'How long a leader leads without renewing its lease; when it is lost, another node takes over after this time',
    value: 'TIME',
    parse: atLeast(MIN_LEASE_MS),
    env: ['LEASEHOLD_LEADER_LEASE_SECONDS', 'APFLOW_LEADER_LEASE_SECONDS', 'APFLOW_LEADER_LEASE'],
    parseEnv: secondsAtLeast(MIN_LEASE_MS),
    fallback: () => 30_000,
    fallbackDoc: '30s',
  },
  leaderRenew: {
    doc: 'How often the leader renews its lease, which must be at least three times as long',
    value: 'TIME',
    parse: atLeast(MIN_INTERVAL_MS),
    env: ['LEASEHOLD_LEADER_RENEW_SECONDS', 'APFLOW_LEADER_RENEW_SECONDS', 'APFLOW_LEADER_RENEW'],
    parseEnv: secondsAtLeast(MIN_INTERVAL_MS),
    fallback: () => 10_000,
    fallbackDoc: '10s',
  },
  cleanupInterval: {
    doc: 'How often, at least, the leader looks for leases that ran out',
    value: 'TIME',
    parse: atLeast(MIN_INTERVAL_MS),
    env: [
      'LEASEHOLD_LEASE_CLEANUP_INTERVAL_SECONDS',
      'APFLOW_LEASE_CLEANUP_INTERVAL_SECONDS',
      'APFLOW_LEASE_CLEANUP_INTERVAL',
    ],
    parseEnv: secondsAtLeast(MIN_INTERVAL_MS),
    fallback: () => 1000,
    fallbackDoc: '1s',
  },
  pollInterval: {
    doc: 'How often, at least, to poll for work whose wake-up was lost',
    value: 'TIME',
    parse: atLeast(MIN_INTERVAL_MS),
    env: ['LEASEHOLD_POLL_INTERVAL_SECONDS', 'APFLOW_POLL_INTERVAL_SECONDS', 'APFLOW_POLL_INTERVAL'],
    parseEnv: secondsAtLeast(MIN_INTERVAL_MS),
    fallback: () => 1000,
    fallbackDoc: '1s',
  },
  nodeDeadThreshold: {
    doc: 'A node that is silent for this long is dead',
    value: 'TIME',
    parse: atLeast(MIN_LEASE_MS),
    env: ['LEASEHOLD_NODE_DEAD_THRESHOLD_SECONDS', 'APFLOW_NODE_DEAD_THRESHOLD_SECONDS', 'APFLOW_NODE_DEAD_THRESHOLD'],
    parseEnv: secondsAtLeast(MIN_LEASE_MS),
    fallback: () => 120_000,
    fallbackDoc: '2m',
  },
} satisfies OptionTable;
