interface Proof {
  readonly name: string;
  readonly secret?: string | undefined;
  readonly code?: string | undefined;
}

/** The command that joins a new worker, to be run on its host. A secret is not an argument, which other users of the host see. */
export function joinOf(address: string, { name, secret, code }: Proof): string {
  const command = `leasehold worker --join ${address}`;
  if (code !== undefined) return `${command} --code ${code}`;
  return `LEASEHOLD_WORKER_SECRET=${secret} ${command} --name ${name}`;
}
