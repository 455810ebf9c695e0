"""The beginning of a program that must not touch the network."""

NO_NETWORK = """
import socket
def refuse(*_, **__):
    raise AssertionError("the network was touched")
class Refusing(socket.socket):
    __init__ = refuse
socket.socket, socket.create_connection, socket.getaddrinfo = Refusing, refuse, refuse
"""
