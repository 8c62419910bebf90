import { spawnSync } from 'node:child_process';

/** Root in a world of its own: what it mounts nobody else sees, and the kernel unmounts it with the last process. */
const WAYS = [
  ['unshare', '--user', '--map-root-user', '--mount'],
  ['unshare', '--mount'], // for root where user namespaces are forbidden
] as const;

export interface Namespace {
  readonly wrapper: readonly string[];
  readonly whyNot?: string;
}

/** A command that runs another one in a mount namespace of its own, or why there is none here. */
export function findNamespace(): Namespace {
  const complaints: string[] = [];
  for (const wrapper of WAYS) {
    const [command, ...args] = wrapper;
    const probe = spawnSync(command, [...args, 'mount', '-t', 'tmpfs', 'leasehold', '/mnt'], { encoding: 'utf8' });
    if (probe.status === 0) return { wrapper };
    complaints.push(probe.error?.message ?? probe.stderr.trim());
  }
  return { wrapper: WAYS[0], whyNot: `no mount namespace for this user: ${complaints.join('; ')}` };
}
