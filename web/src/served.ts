// The page of `bayeskit explore`.
import { begin, fail } from "./main";
import { loaded, server } from "./model";

history.replaceState(null, "", location.pathname); // the token is not to be copied with the address
loaded().then((network) => begin(network, server)).catch(fail);
