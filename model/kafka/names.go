package kafka

import (
	"strconv"
	"strings"
)

// brokerPrefix begins the host name of every simulated broker.
const brokerPrefix = "broker-"

// BrokerHost is the host name of a broker, which is also its actor's name.
func BrokerHost(id NodeID) string { return brokerPrefix + strconv.Itoa(int(id)) }

// ParseBrokerHost finds the id in a broker's host name.
func ParseBrokerHost(host string) (NodeID, bool) {
	digits, ok := strings.CutPrefix(host, brokerPrefix)
	if !ok {
		return NoNode, false
	}
	id, err := strconv.ParseInt(digits, 10, 32)
	return NodeID(id), err == nil && id >= 0
}
