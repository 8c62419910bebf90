interface Proof {
  readonly name: string;
  readonly secret?: string | undefined;
  readonly code?: string | undefined;
}

/**
 * The command that joins a new worker, to be run on its host. Neither a secret nor a code is an argument: other users of the host
 * see those, and one of them could use the code first.
 */
export function joinOf(address: string, { name, secret, code }: Proof): string {
  const command = `leasehold worker --join ${address}`;
  if (code !== undefined) return `LEASEHOLD_WORKER_CODE=${code} ${command}`;
  return `LEASEHOLD_WORKER_SECRET=${secret} ${command} --name ${name}`;
}
