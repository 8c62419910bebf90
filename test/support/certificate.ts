import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';

export interface Certificate {
  /** Of who signed it: what the other side has to trust. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Why no certificate can be made here; false: it can. */
export function noOpenssl(): string | false {
  return spawnSync('openssl', ['version']).error === undefined ? false : 'there is no openssl';
}

/** Files with a certificate for this machine, signed by an authority of its own. */
export function makeCertificate(folder: string, names = 'DNS:localhost,IP:127.0.0.1,IP:::1'): Certificate {
  const openssl = (...args: readonly string[]): void =>
    void execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const ca = ['-subj', '/CN=leasehold test authority', '-addext', 'basicConstraints=critical,CA:TRUE'];
  openssl('req', '-x509', ...ec, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '30', ...ca);
  const own = ['-subj', '/CN=leasehold', '-addext', `subjectAltName=${names}`, '-addext', 'basicConstraints=CA:FALSE'];
  openssl(
    'req',
    '-x509',
    ...ec,
    '-keyout',
    'key.pem',
    '-out',
    'cert.pem',
    '-days',
    '30',
    '-CA',
    'ca.pem',
    '-CAkey',
    'ca.key',
    ...own,
  );
  return { ca: join(folder, 'ca.pem'), cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
}
