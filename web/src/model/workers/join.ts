/** Lines that an operator copies to another host. */

/** The line that installs the worker which this node serves. The key goes with it, so that a node that is swapped later can sign nothing. */
export function installLine(address: string, key: string | undefined): string {
  const { protocol, hostname } = new URL(address);
  const isPrivate = protocol === 'https:' || /^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
  const trust = key === undefined ? '--unsigned' : `--key ${key}`;
  return `curl -fsSL ${address}/install.sh | sh -s -- --server ${address} ${trust}${isPrivate ? '' : ' --insecure'}`;
}

/** Where a dazflow agent connects. */
export function agentAddress(address: string): string {
  return `${address.replace(/^http/, 'ws')}/ws/agent`;
}
