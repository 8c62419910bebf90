interface Proof {
  readonly name: string;
  readonly secret?: string | undefined;
  readonly code?: string | undefined;
}

/** The command that joins a new worker, to be run on its host. */
export function joinOf(address: string, { name, secret, code }: Proof): string {
  const proof = code === undefined ? `--name ${name} --secret ${secret}` : `--code ${code}`;
  return `leasehold worker --join ${address} ${proof}`;
}
