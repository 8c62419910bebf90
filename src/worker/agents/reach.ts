import { failure } from '../handlers/failure.ts';
import { Destinations } from '../handlers/http/destinations.ts';
import { addressesOf, isAllowed, resolveName, unlessAborted } from '../handlers/http/http.ts';
import { hostOf, portOf } from '../handlers/http/http-exchange.ts';
import type { Reach } from './chat-endpoint.ts';

/**
 * Without `allow` every address that the author of an agent wrote is reached: the machine runs for whoever started it. With it, on a
 * worker that runs machines of others, those that the `http` handler may reach.
 */
export function reachOf(allow: readonly string[] | undefined): Reach {
  const destinations = allow === undefined ? undefined : new Destinations(allow);
  return async (url, signal) => {
    const refused = (problem: string): Error => failure('REFUSED', `it was not sent: ${problem}`);
    if (destinations !== undefined && !destinations.allowsPort(portOf(url))) {
      throw refused(`port ${portOf(url)} is not one that this worker may use`);
    }
    const addresses = await unlessAborted(signal, addressesOf(hostOf(url), resolveName));
    if (destinations === undefined || addresses.every((one) => isAllowed(url, one, destinations))) return addresses;
    throw refused(`${hostOf(url)} leads to a destination that this worker may not reach`);
  };
}
